/**
 * Deviations of this workspace's results from those published in papers and vendors' test reports: text and colour of
 * a deviation; number of published rows with a trial here; metrics of a table.
 */
import type { PublishedPlan } from '../../api/types';

/** Deviations from this size on are highlighted [%]. */
const LARGE_PERCENT = 10;

/** Deviation with its sign: −0.31 %, +12.0 %. */
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

/** Number of published rows, and of those with a trial of this workspace. */
export function coverage(plan: PublishedPlan): { ours: number; all: number } {
  return { ours: plan.rows.filter((row) => row.trial !== null).length, all: plan.rows.length };
}

/** Metrics of the rows of a table. */
export function metricNames(plan: PublishedPlan): string[] {
  return [...new Set(plan.rows.flatMap((row) => Object.keys(row.metrics)))];
}
