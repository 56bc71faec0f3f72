/** Two runs compared at every size: which pairs stand in one table, and which metrics it has. */
import type { ComparedJob, Comparison, Metric } from '../../api/types';
import { caseText } from '../../format/sweep';

export interface SizeKind {
  key: string;
  title: string;
  pairs: ComparedJob[];
}

/** One table for each job, variant and combination of swept values of the first run, sizes rising. */
export function kindsOf(comparison: Comparison): SizeKind[] {
  const kinds = new Map<string, SizeKind>();
  for (const pair of comparison.jobs) {
    const told = caseText(pair.first);
    const title = told === '' ? pair.first.job : `${pair.first.job}, ${told}`;
    const kind = kinds.get(title) ?? { key: title, title, pairs: [] };
    kind.pairs.push(pair);
    kinds.set(title, kind);
  }
  for (const kind of kinds.values()) kind.pairs.sort((a, b) => sizeOf(a) - sizeOf(b));
  return [...kinds.values()];
}

function sizeOf(pair: ComparedJob): number {
  return pair.first.data_size_bytes ?? 0;
}

/** The metrics that benchmarks measure too, where either run has them. */
export function sizeMetrics(declared: readonly Metric[], pairs: readonly ComparedJob[]): string[] {
  const names = declared.filter(({ views }) => views.includes('sizes')).map(({ name }) => name);
  return names.filter((name) =>
    pairs.some(({ metrics }) => metrics[name]?.first != null || metrics[name]?.second != null),
  );
}
