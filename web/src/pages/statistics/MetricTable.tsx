import type { JobDetail } from '../../api/types';
import { MetricValue } from '../../components/MetricValue';
import { flatMetrics, metricLabel } from '../../format/metrics';

/** Every metric that was measured, a column for each job. */
export function MetricTable({ jobs }: { jobs: JobDetail[] }) {
  const columns = jobs.map((job) => flatMetrics(job));
  const names = [...new Set(columns.flatMap((metrics) => [...metrics.keys()]))];
  const measured = names.filter((name) => columns.some((metrics) => metrics.get(name) !== null));
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
                  <th key={job.job} scope="col" className="right">
                    {job.job}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {part.map((name) => (
                <tr key={name}>
                  <th scope="row" style={{ fontWeight: 400 }} title={name}>
                    {metricLabel(name)}
                  </th>
                  {columns.map((metrics, column) => (
                    <td key={column} className="right">
                      <MetricValue value={metrics.get(name) ?? null} />
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
