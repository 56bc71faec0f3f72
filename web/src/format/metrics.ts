/**
 * Reads the values of metrics from a job's results; formats values and headings of metrics; selects the worst job by
 * a metric and the metrics of a view.
 */
import type { JobMetrics, Metric } from '../api/types';
import { fixed, significant } from './numbers';

/** Value of a metric of a job: by its name, or in its group by the rest of the name. */
export function metricOf(
  job: Record<string, unknown>,
  { name, group }: Pick<Metric, 'name' | 'group'>,
): number | null {
  const values = group === '' ? job : (job[group] as Record<string, unknown> | null | undefined);
  const value = values?.[group === '' ? name : name.slice(group.length + 1)];
  return typeof value === 'number' ? value : null;
}

/** Value of a metric of the whole fabric, which jobs that share the fabric have in `fabric_metrics`. */
export function fabricMetricOf(job: Record<string, unknown>, metric: Metric): number | null {
  const shared = job.fabric_metrics as Record<string, unknown> | null | undefined;
  return shared ? metricOf(shared, { name: metric.name, group: '' }) : metricOf(job, metric);
}

/** Worst job by a metric; an incomplete job is worse than all others; the first job if none has a value. */
export function worstBy(jobs: readonly JobMetrics[], metric: Metric): JobMetrics | undefined {
  const sign = metric.direction === 'lower' ? 1 : -1;
  const badness = (job: JobMetrics) => {
    const value = metricOf(job, metric);
    if (value === null) return job.status === 'complete' ? -Infinity : Infinity;
    return sign * value;
  };
  return jobs.reduce<JobMetrics | undefined>(
    (worst, job) => (worst === undefined || badness(job) > badness(worst) ? job : worst),
    undefined,
  );
}

/** Metrics of a view for the kinds of metrics that a job has values of. */
export function metricsOf(
  metrics: readonly Metric[],
  view: Metric['views'][number],
  job: JobMetrics,
): Metric[] {
  const kinds = new Set(metrics.filter((each) => metricOf(job, each) !== null).map(({ kind }) => kind));
  kinds.add(null);
  if (kinds.size === 1) kinds.add('collective');
  return metrics.filter(({ views, kind }) => views.includes(view) && kinds.has(kind));
}

/** Value with the decimals or digits of its metric. */
export function metricText(value: number | null, { decimals, digits }: Metric): string {
  return decimals === null ? significant(value, digits ?? undefined) : fixed(value, decimals);
}

/** Heading of a metric or ratio: `fct_ms_p99` is "FCT P99 [ms]". */
export function metricLabel(metrics: readonly Metric[], name: string): string {
  const metric = metrics.find((each) => each.name === name);
  if (metric !== undefined) return metric.unit === '' ? metric.title : `${metric.title} [${metric.unit}]`;
  const compared = metrics.find((each) => each.ratio === name);
  return compared === undefined ? name : `${compared.title}, ratio`;
}
