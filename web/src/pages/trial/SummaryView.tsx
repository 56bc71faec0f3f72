/**
 * View "Summary" of a trial, its first screen: jobs with completion time and share of the ideal, failed ones first;
 * timeline or bandwidth; first causes with remedies; then counters of the whole fabric, criteria, metrics, notes.
 */
import { Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { Link } from 'react-router';

import { useFigures, useMetrics } from '../../api/queries';
import type { Facts, JobDetail, Measured, Metric, TrialDetail } from '../../api/types';
import { CauseBox } from '../../components/CauseBox';
import { FigurePanel } from '../../components/chart/FigurePanel';
import { FactList } from '../../components/FactList';
import { NoteList } from '../../components/NoteList';
import { Loading } from '../../components/QueryStates';
import { firstCauses, jobsText } from '../../format/jobs';
import { fabricMetricOf, metricOf, metricsOf, metricText, scaled, unitFor } from '../../format/metrics';
import { dataSize, MISSING, significant, whole } from '../../format/numbers';
import { CriteriaTable } from './CriteriaTable';
import { JobTiles } from './JobTiles';
import { FabricMetrics, MetricTable } from './MetricTable';
import { jobsOf, mainFigure, unreachedTexts } from './views';

export function SummaryView({ trial }: { trial: TrialDetail }) {
  const jobs = jobsOf(trial);
  const [first] = jobs;
  if (first === undefined) return <Text size="sm">{trial.message || 'This trial has no results.'}</Text>;
  return (
    <Stack gap="sm">
      {trial.message !== '' && jobs.length === 1 ? (
        <Text size="sm" role="alert" className="worse">
          {trial.message}
        </Text>
      ) : null}
      <Unreached texts={unreachedTexts(first)} />
      {jobs.length > 1 ? <JobTiles jobs={jobs} /> : <MetricTiles trial={trial} job={first} />}
      <div className="first-screen">
        <MainFigure trial={trial} />
        <FirstCauses trial={trial} jobs={jobs} />
      </div>
      {first.measured ? <MeasuredFacts measured={first.measured} /> : null}
      {jobs.length > 1 ? <FabricMetrics job={first} /> : null}
      <CriteriaTable jobs={jobs} />
      <MetricTable jobs={jobs} />
      <NoteList label="About the result" notes={first.notes} />
    </Stack>
  );
}

function MainFigure({ trial }: { trial: TrialDetail }) {
  const query = useFigures(trial.id);
  if (query.isPending) return <Loading name="The figures" />;
  const figure = mainFigure(query.data?.figures ?? []);
  if (figure === undefined) return <div />;
  return <FigurePanel trial={trial.id} figure={figure} jobs={[]} filtered={false} />;
}

/** First cause of each slow job with its remedies; a cause that several jobs share appears once. */
function FirstCauses({ trial, jobs }: { trial: TrialDetail; jobs: JobDetail[] }) {
  const causes = firstCauses(jobs);
  if (causes.length === 0) return null;
  return (
    <Paper withBorder p="sm">
      <Stack gap="md">
        {causes.slice(0, MAX_CAUSES).map(({ jobs: names, cause }) => (
          <CauseBox
            key={names.join()}
            trial={trial.id}
            finding={cause}
            title={`Likely cause${jobs.length > 1 ? `, ${jobsText(names)}` : ''}`}
          />
        ))}
        {causes.length > MAX_CAUSES ? (
          <Link to={`/trials/${trial.id}/diagnosis`}>{causes.length - MAX_CAUSES} more causes</Link>
        ) : null}
      </Stack>
    </Paper>
  );
}

const MAX_CAUSES = 3;

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

interface Tile {
  label: string;
  value: string;
  unit?: string;
}

/** Tiles of a trial with one job: main metrics, data size, ranks; of a measured one what benchmarks print. */
function MetricTiles({ trial, job }: { trial: TrialDetail; job: JobDetail }) {
  const metrics = useMetrics();
  const tiles = tilesOf(metrics, trial, job);
  return (
    <SimpleGrid cols={{ base: 4, lg: tiles.length }} spacing="xs">
      {tiles.map((tile) => (
        <TileBox key={tile.label} {...tile} />
      ))}
    </SimpleGrid>
  );
}

function tilesOf(metrics: readonly Metric[], trial: TrialDetail, job: JobDetail): Tile[] {
  const shown = metricsOf(metrics, job.measured ? 'sizes' : 'tiles', job);
  return [
    ...shown.map((metric) => {
      const value = metric.scope === 'run' ? fabricMetricOf(job, metric) : metricOf(job, metric);
      const unit = unitFor(metric, [value]);
      return { label: metric.title, value: metricText(scaled(value, unit), metric), unit: unit.unit };
    }),
    { label: 'Data size', value: dataSize(trial.data_size_bytes) },
    { label: 'Ranks', value: significant(trial.ranks) },
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
      <Text size="sm" style={{ gridColumn: '1 / -1' }}>
        Slower than expected? <Link to="/explain">Explain</Link> compares the output with the expected curve
        of a fabric and names likely causes.
      </Text>
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

function TileBox({ label, value, unit }: Tile) {
  return (
    <Paper withBorder px="sm" py={8}>
      <Text size="xs" className="muted" truncate title={label}>
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
