/**
 * Texts of a row in the list of runs: what differs between its trials; range of bus bandwidth in percent of
 * the ideal; whether earlier runs of the same plan gave the same results.
 */
import type { RunListRow } from '../../api/types';

/** Numbers of values of swept fields, variants, sizes and iterations of a run, if above one. */
export function spanText({ swept, sizes, variants, iterations }: RunListRow): string {
  const fields = Object.entries(swept).map(([name, count]) => `${fieldName(name)} ×${count}`);
  const counts = [
    [variants, 'variants'],
    [sizes, 'sizes'],
    [iterations, 'iterations'],
  ] as const;
  const others = counts.filter(([count]) => count > 1).map(([count, name]) => `${count} ${name}`);
  return [...fields, ...others].join(', ');
}

/** Last part of the path of a field. */
function fieldName(path: string): string {
  return path.split('.').at(-1) ?? path;
}

/** Least and greatest percentage of the ideal. */
export function percentRange(range: readonly number[] | null): string {
  const [least, most] = range ?? [];
  if (least === undefined || most === undefined) return '–';
  const ends = [least.toFixed(1), most.toFixed(1)];
  return ends[0] === ends[1] ? `${ends[0]}` : ends.join(' – ');
}

/** Whether a plan has run before and whether the results differ; empty if it has not. */
export function sameText(run: RunListRow): { text: string; isOther: boolean } {
  if (run.same_plan_as !== null) {
    const isOther = run.same_results === false;
    return { text: `same plan as ${run.same_plan_as}, ${isOther ? 'other' : 'same'} results`, isOther };
  }
  if (run.times < 2) return { text: '', isOther: false };
  const isOther = run.changes > 0;
  return { text: `${run.times} times, ${isOther ? 'other' : 'same'} results`, isOther };
}
