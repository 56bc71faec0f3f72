/**
 * Table of all measured metrics of a trial with a column per job; with several jobs, metrics of the whole fabric are
 * in a separate table.
 */
import { useMetrics } from '../../api/queries';
import type { JobDetail, Metric } from '../../api/types';
import { DataTable, type TableColumn } from '../../components/table/DataTable';
import { MetricValue } from '../../components/table/MetricCells';
import { jobName } from '../../format/jobs';
import { fabricMetricOf, metricLabel, metricOf } from '../../format/metrics';

interface MetricRow {
  name: string;
  title: string;
  scope: string;
  values: (number | null)[];
}

const COUNTS = {
  rounds: 'Rounds',
  chunks: 'Chunks',
  chunks_complete: 'Chunks complete',
  chunks_failed: 'Chunks failed',
};

const valueOf = (job: JobDetail, metric: Metric) =>
  metric.scope === 'run' ? fabricMetricOf(job, metric) : metricOf(job, metric);

export function MetricTable({ jobs }: { jobs: JobDetail[] }) {
  const metrics = useMetrics();
  const rows: MetricRow[] = [
    ...Object.entries(COUNTS).map(([name, title]) => {
      return { name, title, scope: 'job', values: jobs.map((job) => (job[name] ?? null) as number | null) };
    }),
    ...metrics.map((metric) => {
      const title = metricLabel(metrics, metric.name);
      const { name, scope } = metric;
      return { name, title, scope, values: jobs.map((job) => valueOf(job, metric)) };
    }),
  ];
  const measured = rows.filter(({ values }) => values.some((value) => value !== null));
  const isShared = ({ scope }: MetricRow) => jobs.length > 1 && scope === 'run';
  const own = measured.filter((row) => !isShared(row));
  const fabric = measured.filter(isShared).map((row) => ({ ...row, values: row.values.slice(0, 1) }));
  const half = Math.ceil(own.length / 2);
  const heads = jobs.map((job) => jobName(jobs, job));
  return (
    <div style={{ display: 'grid', gridTemplateColumns: jobs.length > 2 ? '1fr' : '1fr 1fr', gap: 12 }}>
      {(jobs.length > 2 ? [own] : [own.slice(0, half), own.slice(half)]).map((part, index) => (
        <Metrics key={index} label={`Metrics, part ${index + 1}`} heads={heads} rows={part} />
      ))}
      {fabric.length > 0 ? (
        <Metrics label="Metrics of the whole fabric" heads={['whole fabric']} rows={fabric} />
      ) : null}
    </div>
  );
}

interface MetricsProps {
  label: string;
  /** Title of the column of each value. */
  heads: readonly string[];
  rows: MetricRow[];
}

function Metrics({ label, heads, rows }: MetricsProps) {
  const columns: TableColumn<MetricRow>[] = [
    { title: 'Metric', isHeading: true, cell: ({ name, title }) => <span title={name}>{title}</span> },
    ...heads.map((title, column): TableColumn<MetricRow> => ({
      title,
      key: `${title} ${column}`,
      right: true,
      cell: ({ values }) => <MetricValue value={values[column]} />,
    })),
  ];
  return (
    <div className="panel" style={{ overflowX: 'auto', alignSelf: 'start' }}>
      <DataTable label={label} columns={columns} rows={rows} rowKey={({ name }) => name} />
    </div>
  );
}
