/**
 * Reads the values of metrics from a job's results; formats values and headings of metrics; selects the worst job by
 * a metric and the metrics of a view.
 */
import type { JobMetrics, Metric } from '../api/types';
import { fixed, MISSING, significant } from './numbers';

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

/** Value with the decimals or digits of its metric; with four digits where its decimals would leave one. */
export function metricText(value: number | null, { decimals, digits }: Metric): string {
  if (decimals === null) return significant(value, digits ?? undefined);
  const isSmall = value !== null && decimals > 0 && Math.abs(value) < 10 ** (1 - decimals);
  return isSmall ? significant(value, 4) : fixed(value, decimals);
}

/** Time in milliseconds below which it is shown in microseconds. */
const MICROSECONDS_BELOW_MS = 0.1;

/** A unit, and the factor of values in it. */
export interface ShownUnit {
  unit: string;
  factor: number;
}

/** Unit that suits all of some values of a metric: microseconds for times that are all below 0.1 ms. */
export function unitFor({ unit }: Pick<Metric, 'unit'>, values: readonly (number | null)[]): ShownUnit {
  const largest = values.reduce<number>((most, value) => Math.max(most, Math.abs(value ?? 0)), 0);
  const isShort = unit === 'ms' && largest > 0 && largest < MICROSECONDS_BELOW_MS;
  return isShort ? { unit: 'us', factor: 1000 } : { unit, factor: 1 };
}

/** Value in another unit than that of its metric. */
export function scaled(value: number | null, { factor }: ShownUnit): number | null {
  return value === null || factor === 1 ? value : Number((value * factor).toPrecision(12));
}

/** Value of a metric with the unit that suits it: "16.48 us", "2.933 GB/s", "98.5 %". */
export function valueWithUnit(value: number | null, metric: Metric): string {
  if (value === null) return MISSING;
  const shown = unitFor(metric, [value]);
  return [metricText(scaled(value, shown), metric), shown.unit].filter(Boolean).join(' ');
}

/** Title with a unit: "FCT P99 [us]". */
export function titleWithUnit(title: string, unit: string): string {
  return unit === '' ? title : `${title} [${unit}]`;
}

/** Heading of a metric or ratio: `fct_ms_p99` is "FCT P99 [ms]". */
export function metricLabel(metrics: readonly Metric[], name: string): string {
  const metric = metrics.find((each) => each.name === name);
  if (metric !== undefined) return titleWithUnit(metric.title, metric.unit);
  const compared = metrics.find((each) => each.ratio === name);
  return compared === undefined ? name : `${compared.title}, ratio`;
}
