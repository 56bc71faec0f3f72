import { useMetrics } from '../../api/queries';
import type { JobDetail, Metric } from '../../api/types';
import { MetricValue } from '../../components/table/MetricCells';
import { jobName } from '../../format/jobs';
import { fabricMetricOf, metricLabel, metricOf } from '../../format/metrics';

interface Line {
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

/**
 * Every metric that was measured, and what it is of, a column for each job. Those of the whole fabric have a table
 * of their own where there are several jobs.
 */
export function MetricTable({ jobs }: { jobs: JobDetail[] }) {
  const metrics = useMetrics();
  const lines: Line[] = [
    ...Object.entries(COUNTS).map(([name, title]) => {
      return { name, title, scope: 'job', values: jobs.map((job) => (job[name] ?? null) as number | null) };
    }),
    ...metrics.map((metric) => {
      const title = metricLabel(metrics, metric.name);
      const { name, scope } = metric;
      return { name, title, scope, values: jobs.map((job) => valueOf(job, metric)) };
    }),
  ];
  const measured = lines.filter(({ values }) => values.some((value) => value !== null));
  const isShared = ({ scope }: Line) => jobs.length > 1 && scope === 'run';
  const own = measured.filter((line) => !isShared(line));
  const fabric = measured.filter(isShared).map((line) => ({ ...line, values: line.values.slice(0, 1) }));
  const half = Math.ceil(own.length / 2);
  const heads = jobs.map((job) => ({ key: `${job.job} ${job.data_size_bytes}`, text: jobName(jobs, job) }));
  return (
    <div style={{ display: 'grid', gridTemplateColumns: jobs.length > 2 ? '1fr' : '1fr 1fr', gap: 12 }}>
      {(jobs.length > 2 ? [own] : [own.slice(0, half), own.slice(half)]).map((part, index) => (
        <Lines key={index} label={`Metrics, part ${index + 1}`} heads={heads} lines={part} />
      ))}
      {fabric.length > 0 ? (
        <Lines
          label="Metrics of the whole fabric"
          heads={[{ key: 'fabric', text: 'whole fabric' }]}
          lines={fabric}
        />
      ) : null}
    </div>
  );
}

interface LinesProps {
  label: string;
  heads: { key: string; text: string }[];
  lines: Line[];
}

function Lines({ label, heads, lines }: LinesProps) {
  return (
    <div className="panel" style={{ overflowX: 'auto', alignSelf: 'start' }}>
      <table className="plain" aria-label={label}>
        <thead>
          <tr>
            <th scope="col">Metric</th>
            {heads.map(({ key, text }) => (
              <th key={key} scope="col" className="right">
                {text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map(({ name, title, values }) => (
            <tr key={name}>
              <th scope="row" style={{ fontWeight: 400 }} title={name}>
                {title}
              </th>
              {values.map((value, column) => (
                <td key={column} className="right">
                  <MetricValue value={value} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
