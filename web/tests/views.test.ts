/** Tests of a trial's views and of its unreached failures. */
import { describe, expect, it } from 'vitest';

import { hasTables, unreachedTexts, viewsOf } from '../src/pages/trial/views';

describe('views of a trial', () => {
  it('require tables of the record', () => {
    const seen = { at: 'endpoint' as const, unmeasured: [] };
    const shown = viewsOf({ engine: {} }).filter(({ needs }) =>
      hasTables({ observed: { chunks: seen } }, needs),
    );
    expect(shown.map(({ key }) => key)).toEqual([
      'summary',
      'chunks',
      'distribution',
      'timeline',
      'port-map',
      'plan',
    ]);
    const imported = viewsOf({ engine: {}, backend: 'imported' }).map(({ key }) => key);
    expect(imported).toEqual(['summary', 'plan']);
    expect(hasTables({ observed: {} }, ['chunks'])).toBe(false);
  });

  it('have channels where NCCL runs a job', () => {
    const keys = (nccl: unknown) =>
      viewsOf({ engine: {}, run_spec: { jobs: [{ work: {} }, { work: { nccl } }] } }).map(({ key }) => key);
    expect(keys({ kind: 'ring' })).toContain('channels');
    expect(keys(null)).not.toContain('channels');
  });

  it('name the failures that the run did not reach, with their times', () => {
    const failures = [
      { failure: 'link down: spine1-leaf0', at_ps: 10e12 },
      { failure: 'switch down: spine0', at_ps: 2.5e9 },
    ];
    expect(unreachedTexts({ unreached_failures: failures })).toEqual([
      'link down: spine1-leaf0 at 10 s never happened: the run had ended before',
      'switch down: spine0 at 2.5 ms never happened: the run had ended before',
    ]);
    expect(unreachedTexts({ unreached_failures: [] })).toEqual([]);
  });
});
