import type { PublishedPlan } from '../../api/types';

/** From here on a deviation is shown as one that wants an explanation [%]. */
const LARGE_PERCENT = 10;

/** −0.31 %, +12.0 %. */
export function deviationText(percent: number | null): string {
  if (percent === null) return '–';
  const size = Math.abs(percent);
  if (size < 0.005) return '0 %';
  return `${percent > 0 ? '+' : '−'}${size >= 100 ? Math.round(size) : size.toPrecision(size < 1 ? 2 : 3)} %`;
}

export function deviationStyle(percent: number | null): string {
  if (percent === null) return 'muted';
  return Math.abs(percent) >= LARGE_PERCENT ? 'worse' : '';
}

/** How many of the published rows have a trial of ours. */
export function coverage(plan: PublishedPlan): { ours: number; all: number } {
  return { ours: plan.rows.filter((row) => row.trial !== null).length, all: plan.rows.length };
}

/** The metrics that any row of the table has, in their order. */
export function metricNames(plan: PublishedPlan): string[] {
  return [...new Set(plan.rows.flatMap((row) => Object.keys(row.metrics)))];
}
