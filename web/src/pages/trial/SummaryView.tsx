/**
 * View "Summary" of a trial: tiles of the main metrics, notes, failures in the plan later than the end of the trial,
 * likely causes of slow jobs, source of an imported result, acceptance criteria, table of all metrics.
 */
import { Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { Link } from 'react-router';

import { useMetrics } from '../../api/queries';
import type { Facts, JobDetail, Measured, Metric, TrialDetail } from '../../api/types';
import { fabricMetricOf, metricOf, metricsOf, metricText } from '../../format/metrics';
import { firstCauses, jobsText, shownFirst, shownJob, shownText } from '../../format/jobs';
import { dataSize, MISSING, significant, whole } from '../../format/numbers';
import { FactList } from '../../components/FactList';
import { NoteList } from '../../components/NoteList';
import { CriteriaTable } from './CriteriaTable';
import { RemedyLines } from './DiagnosisView';
import { MetricTable } from './MetricTable';
import { jobsOf, unreachedTexts } from './views';

interface Tile {
  label: string;
  value: string;
  unit?: string;
  hint?: string;
}

export function SummaryView({ trial }: { trial: TrialDetail }) {
  const jobs = shownFirst(trial, jobsOf(trial));
  const metrics = useMetrics();
  const job = shownJob(trial, jobs);
  if (job === undefined) return <Text size="sm">{trial.message || 'This trial has no results.'}</Text>;
  const shown = tiles(metrics, trial, job);
  const several = shownText(trial, jobs);
  return (
    <Stack gap="sm">
      {trial.message ? (
        <Text size="sm" role="alert" className="worse">
          {trial.message}
        </Text>
      ) : null}
      <Unreached texts={unreachedTexts(job)} />
      <NoteList label="About the result" notes={job.notes} />
      {several ? <Text size="sm">{several}.</Text> : null}
      <SimpleGrid cols={{ base: 4, lg: shown.length }} spacing="xs">
        {shown.map((tile) => (
          <TileBox key={tile.label} {...tile} />
        ))}
      </SimpleGrid>
      <FirstCauses trial={trial} jobs={jobs} />
      {job.measured ? <MeasuredFacts measured={job.measured} /> : null}
      <CriteriaTable jobs={jobs} />
      <MetricTable jobs={jobs} />
    </Stack>
  );
}

/** First cause of each slow job with its first remedy; a cause that several jobs share appears once. */
function FirstCauses({ trial, jobs }: { trial: TrialDetail; jobs: JobDetail[] }) {
  return firstCauses(jobs)
    .slice(0, MAX_CAUSES)
    .map(({ jobs: names, cause }) => (
      <Paper key={names.join()} withBorder p="sm">
        <Text size="sm">
          <b>Likely cause{jobs.length > 1 ? `, ${jobsText(names)}` : ''}</b>: {cause.sentence}{' '}
          <Link to={`/trials/${trial.id}/diagnosis`}>Diagnosis</Link>
        </Text>
        <RemedyLines remedies={cause.remedies.slice(0, 1)} />
      </Paper>
    ));
}

const MAX_CAUSES = 4;

/** Greatest number of failures named; a plan may have thousands. */
const MAX_UNREACHED = 12;

function Unreached({ texts }: { texts: string[] }) {
  if (texts.length === 0) return null;
  const more = texts.length - MAX_UNREACHED;
  const shown = [...texts.slice(0, MAX_UNREACHED), ...(more > 0 ? [`and ${more} more`] : [])];
  return (
    <div role="alert">
      {shown.map((text) => (
        <Text key={text} size="sm" className="worse">
          {text}
        </Text>
      ))}
    </div>
  );
}

/** Tiles with data size, ranks and main metrics; for a measured trial the metrics that benchmarks print. */
function tiles(metrics: readonly Metric[], trial: TrialDetail, job: JobDetail): Tile[] {
  const shown = metricsOf(metrics, job.measured ? 'sizes' : 'tiles', job);
  return [
    { label: 'Data size', value: dataSize(trial.data_size_bytes) },
    {
      label: jobsOf(trial).length > 1 ? 'Ranks of all jobs' : 'Ranks',
      value: significant(trial.ranks),
      hint: jobsOf(trial)
        .map(
          (each) =>
            `${each.job}: ${significant(each.ranks)}, ${each.collective ?? ''} ${each.algorithm ?? ''}`,
        )
        .join('; '),
    },
    ...shown.map((metric) => {
      const { title, unit, scope } = metric;
      const label = scope === 'run' && jobsOf(trial).length > 1 ? `${title}, whole fabric` : title;
      return {
        label,
        value: metricText(scope === 'run' ? fabricMetricOf(job, metric) : metricOf(job, metric), metric),
        unit,
      };
    }),
    ...(job.measured ? printedTiles(job.measured) : []),
  ];
}

/** Source of an imported result, and every other column of its row. */
function MeasuredFacts({ measured }: { measured: Measured }) {
  const source: Facts = {
    benchmark: `${measured.benchmark}, ${measured.format} ${measured.version}`.trim(),
    command: measured.command || null,
    file: `${measured.file}, line ${measured.line}`,
    ...measured.facts,
  };
  return (
    <div style={{ display: 'grid', gridTemplateColumns: 'minmax(0, 2fr) minmax(0, 1fr)', gap: 12 }}>
      <FactsBox title="Measured" facts={source} />
      <FactsBox title="As printed" facts={measured.printed.values} />
    </div>
  );
}

function FactsBox({ title, facts }: { title: string; facts: Facts }) {
  return (
    <Paper withBorder p="sm">
      <Title order={2} mb={6}>
        {title}
      </Title>
      <FactList facts={Object.entries(facts)} />
    </Paper>
  );
}

function printedTiles({ printed: { wrong, iterations } }: Measured): Tile[] {
  return [
    { label: 'Iterations', value: whole(iterations) },
    { label: 'Wrong values', value: wrong === null ? 'not checked' : whole(wrong) },
  ];
}

function TileBox({ label, value, unit, hint }: Tile) {
  return (
    <Paper withBorder px="sm" py={8} title={hint}>
      <Text size="xs" className="muted" truncate>
        {label}
      </Text>
      <Text fw={600} fz={18} className="num" lh={1.3} truncate>
        {value === MISSING ? <NoValue /> : value}
        {unit && value !== MISSING ? (
          <Text span size="xs" className="muted" ml={4}>
            {unit}
          </Text>
        ) : null}
      </Text>
    </Paper>
  );
}

function NoValue() {
  return (
    <Text span size="sm" className="muted" fw={400}>
      not measured
    </Text>
  );
}
