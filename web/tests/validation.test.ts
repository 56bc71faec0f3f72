/** Tests of deviations from published results and their coverage. */
import { describe, expect, it } from 'vitest';

import { coverage, deviationStyle, deviationText, metricNames } from '../src/pages/validation/deviation';

const metric = { unit: 'ms', published: 1, ours: 1, deviation_percent: 0 };
const plan = {
  plan: 'p',
  title: '',
  variant: 'base',
  size_kind: 'data',
  table: '',
  source: '',
  changed: 0,
  note: '',
  rows: [
    { data_size_bytes: 1, trial: null, metrics: { a: metric } },
    { data_size_bytes: 2, trial: 'x', metrics: { a: metric, b: metric } },
  ],
};

describe('published results', () => {
  it('a table knows how much of it has run, and its metrics', () => {
    expect(coverage(plan)).toEqual({ ours: 1, all: 2 });
    expect(metricNames(plan)).toEqual(['a', 'b']);
  });

  it('deviations have a sign and stand out when large', () => {
    expect(deviationText(-0.314)).toBe('−0.31 %');
    expect(deviationText(12)).toBe('+12.0 %');
    expect(deviationText(0.001)).toBe('0 %');
    expect(deviationText(null)).toBe('–');
    expect([deviationStyle(9.9), deviationStyle(-12)]).toEqual(['', 'worse']);
  });
});
