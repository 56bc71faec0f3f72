import { Paper, SimpleGrid, Stack, Text } from '@mantine/core';
import { Link } from 'react-router';

import { useMetrics } from '../../api/queries';
import type { JobDetail, Measured, Metric, TrialDetail } from '../../api/types';
import { fabricMetricOf, metricOf, metricsOf, metricText } from '../../format/metrics';
import { firstCauses, jobsText, shownFirst, shownJob, shownText } from '../../format/jobs';
import { dataSize, MISSING, significant, whole } from '../../format/numbers';
import { NoteList } from '../../components/NoteList';
import { Criteria } from './CriteriaTable';
import { MeasuredFacts } from './MeasuredFacts';
import { MetricTable } from './MetricTable';
import { RemedyLines } from './RemedyLines';
import { jobsOf, unreachedTexts } from './views';

interface Tile {
  label: string;
  value: string;
  unit?: string;
  hint?: string;
}

/** The figures that are looked at first, then every metric of every job. */
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
      <Criteria jobs={jobs} />
      <MetricTable jobs={jobs} />
    </Stack>
  );
}

/** The first cause of each job that is slow, with what to do about it; one that several jobs share once. */
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

/** So many are named; a plan may have thousands. */
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

/** Of a measured trial: what benchmarks print. */
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
