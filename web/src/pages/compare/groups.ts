/**
 * Groups the server's comparison of pairs of trials by job of the first trial; decides whether a metric differs, and
 * formats ratios.
 */
import type { ComparedJob, ComparedMetric, ComparedTrial, Comparison } from '../../api/types';

/** A job of the first trial with its counterparts in the other trials, or the whole fabric of these trials. */
export interface Group {
  key: string;
  isFabric: boolean;
  first: ComparedTrial;
  others: ComparedJob[];
  metrics: string[];
}

/**
 * Groups of a comparison, by trial.
 *
 * Of a trial with several jobs, the metrics of the whole fabric are in a group of their own after those of the jobs.
 */
export function groups(comparison: Comparison, ofFabric: ReadonlySet<string>): Group[] {
  const byJob = new Map<string, Group>();
  for (const pair of comparison.jobs) {
    const key = `${pair.first.id} ${pair.first.job}`;
    const group = byJob.get(key) ?? { key, isFabric: false, first: pair.first, others: [], metrics: [] };
    group.others.push(pair);
    group.metrics = [...new Set([...group.metrics, ...measured(pair)])];
    byJob.set(key, group);
  }
  const all = [...byJob.values()];
  const trials = [...new Set(all.map(({ first }) => first.id))];
  return trials.flatMap((id) => {
    const jobs = all.filter(({ first }) => first.id === id);
    return jobs.length > 1 ? withFabric(jobs, ofFabric) : jobs;
  });
}

function withFabric(jobs: Group[], ofFabric: ReadonlySet<string>): Group[] {
  const [first] = jobs;
  const shared = first?.metrics.filter((name) => ofFabric.has(name)) ?? [];
  const own = jobs.map((job) => ({ ...job, metrics: job.metrics.filter((name) => !ofFabric.has(name)) }));
  if (first === undefined || shared.length === 0) return own;
  return [...own, { ...first, key: `${first.first.id} fabric`, isFabric: true, metrics: shared }];
}

function measured(pair: ComparedJob): string[] {
  return Object.entries(pair.metrics)
    .filter(([, metric]) => metric.first !== null || metric.second !== null)
    .map(([name]) => name);
}

/** Whether a metric differs from the first trial's by more than a relative `tolerance`. */
export function differs(metric: ComparedMetric | undefined, tolerance = 0.001): boolean {
  if (metric === undefined) return false;
  if (metric.ratio === null) return metric.first !== metric.second;
  return Math.abs(metric.ratio - 1) > tolerance;
}

/** Ratio as a difference or factor: +3.2 %, −12 %, ×4.1. */
export function ratioText(ratio: number | null): string {
  if (ratio === null) return '';
  if (ratio >= 3 || ratio <= 1 / 3) return `×${ratio.toPrecision(3)}`;
  const percent = (ratio - 1) * 100;
  if (Math.abs(percent) < 0.005) return '=';
  return `${percent > 0 ? '+' : '−'}${Math.abs(percent).toPrecision(3)} %`;
}
