import { useMetrics } from '../../api/queries';
import type { JobDetail } from '../../api/types';
import { MetricValue } from '../../components/MetricValue';
import { jobName } from '../../format/jobs';
import { metricLabel, metricOf } from '../../format/metrics';

interface Line {
  name: string;
  title: string;
  values: (number | null)[];
}

const COUNTS = {
  rounds: 'Rounds',
  chunks: 'Chunks',
  chunks_complete: 'Chunks complete',
  chunks_failed: 'Chunks failed',
};

/** Every metric that was measured, and what it is of, a column for each job. */
export function MetricTable({ jobs }: { jobs: JobDetail[] }) {
  const metrics = useMetrics();
  const lines: Line[] = [
    ...Object.entries(COUNTS).map(([name, title]) => {
      return { name, title, values: jobs.map((job) => (job[name] ?? null) as number | null) };
    }),
    ...metrics.map((metric) => {
      const title = metricLabel(metrics, metric.name);
      return { name: metric.name, title, values: jobs.map((job) => metricOf(job, metric)) };
    }),
  ];
  const measured = lines.filter(({ values }) => values.some((value) => value !== null));
  const half = Math.ceil(measured.length / 2);
  return (
    <div style={{ display: 'grid', gridTemplateColumns: jobs.length > 2 ? '1fr' : '1fr 1fr', gap: 12 }}>
      {(jobs.length > 2 ? [measured] : [measured.slice(0, half), measured.slice(half)]).map((part, index) => (
        <div key={index} className="panel" style={{ overflowX: 'auto', alignSelf: 'start' }}>
          <table className="plain" aria-label={`Metrics, part ${index + 1}`}>
            <thead>
              <tr>
                <th scope="col">Metric</th>
                {jobs.map((job) => (
                  <th key={`${job.job} ${job.data_size_bytes}`} scope="col" className="right">
                    {jobName(jobs, job)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {part.map(({ name, title, values }) => (
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
      ))}
    </div>
  );
}
