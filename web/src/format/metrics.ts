/** Metrics as the record names them: the name carries the unit last. */

/** What describes a job or stands in a place of its own, and is no metric. */
const NO_METRIC = new Set([
  'id',
  'tag',
  'tags',
  'plan',
  'variant',
  'iteration',
  'job',
  'collective',
  'algorithm',
  'ranks',
  'data_size_bytes',
  'message_size_bytes',
  'status',
  'reason',
  'verdict',
  'published',
  'alone',
  'reference',
  'criteria',
  'diagnosis',
  'reordering',
  'recoveries',
  'tcp',
  'measured',
]);

/** The numbers of a job by name; those of a group, such as `fct_ms`, by `fct_ms_p99`. */
export function flatMetrics(job: Record<string, unknown>): Map<string, number | null> {
  const flat = new Map<string, number | null>();
  for (const [name, value] of Object.entries(job)) {
    if (NO_METRIC.has(name)) continue;
    if (typeof value === 'number' || value === null) flat.set(name, value);
    else if (typeof value === 'object' && !Array.isArray(value)) {
      for (const [part, number] of Object.entries(value)) {
        if (typeof number === 'number' || number === null)
          flat.set(`${name}_${part}`, number as number | null);
      }
    }
  }
  return flat;
}

const UNITS: readonly [string, string][] = [
  ['_gb_per_s', 'GB/s'],
  ['_percent', '%'],
  ['_bytes', 'bytes'],
  ['_ms', 'ms'],
  ['_us', 'us'],
];

const WORDS: Record<string, string> = {
  algbw: 'algorithm bandwidth',
  busbw: 'bus bandwidth',
  ideal: 'share of the ideal',
  fct: 'flow completion time',
  fct_mean: 'flow completion time mean',
  iops: 'operations per second',
  jain_fairness: 'Jain fairness',
  pfc_rx: 'PFC pauses received',
  ecn_ce_rx: 'ECN marks received',
  cnp_tx: 'CNPs sent',
  p50: 'P50',
  p95: 'P95',
  p99: 'P99',
  p999: 'P99.9',
  latency: 'frame latency',
};

/** A heading for a metric: `fct_ms_p99` is "flow completion time P99 [ms]". */
export function metricLabel(name: string): string {
  const { stem, unit, suffix } = partsOf(name);
  const text = [WORDS[stem] ?? stem.replaceAll('_', ' '), WORDS[suffix] ?? suffix.replaceAll('_', ' ')];
  const words = text.filter(Boolean).join(' ');
  return unit === '' ? words : `${words} [${unit}]`;
}

function partsOf(name: string) {
  for (const [marker, unit] of UNITS) {
    const at = name.indexOf(marker);
    const end = at + marker.length;
    if (at > 0 && (end === name.length || name[end] === '_')) {
      return { stem: name.slice(0, at), unit, suffix: name.slice(end + 1) };
    }
  }
  return { stem: name, unit: '', suffix: '' };
}
