/**
 * Groups the comparison of two runs into one table per job, variant and swept values, sorted by data size; selects
 * the metrics of a table.
 */
import type { ComparedJob, Comparison, Metric } from '../../api/types';
import { caseText } from '../../format/sweep';

/** Pairs of one job, variant and combination of swept values. */
export interface SizeTable {
  title: string;
  pairs: ComparedJob[];
}

/** Tables of the first run, each in the order of sizes. */
export function sizeTables(comparison: Comparison): SizeTable[] {
  const tables = new Map<string, SizeTable>();
  for (const pair of comparison.jobs) {
    const title = [pair.first.job, caseText(pair.first)].filter((part) => part !== '').join(', ');
    const table = tables.get(title) ?? { title, pairs: [] };
    table.pairs.push(pair);
    tables.set(title, table);
  }
  for (const { pairs } of tables.values()) pairs.sort((a, b) => sizeOf(a) - sizeOf(b));
  return [...tables.values()];
}

function sizeOf(pair: ComparedJob): number {
  return pair.first.data_size_bytes;
}

/** Metrics that benchmarks measure as well and that either run has. */
export function sizeMetrics(declared: readonly Metric[], pairs: readonly ComparedJob[]): string[] {
  const names = declared.filter(({ views }) => views.includes('sizes')).map(({ name }) => name);
  return names.filter((name) =>
    pairs.some(({ metrics }) => metrics[name]?.first != null || metrics[name]?.second != null),
  );
}
