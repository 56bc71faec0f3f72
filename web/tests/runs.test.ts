/** Tests of live samples of a run and of the groups and ratios of a comparison. */
import { describe, expect, it } from 'vitest';

import { type Live, thinned, withSamples } from '../src/api/events';
import { differs, groups, ratioText } from '../src/pages/compare/groups';

const before: Live = {
  progress: null,
  trial: 'a',
  goodput: [
    [1, 5],
    [2, 6],
  ],
  queue: [],
  marked: [],
  paused: [],
};

describe('events of a run', () => {
  it('points are added once, each kind by itself, and a new trial begins with none', () => {
    const points = [
      { sim_ps: 2, goodput_gb_per_s: 6, queue_max_bytes: 7, marks_per_us: 0, paused_mean: 0.5 },
      { sim_ps: 3, goodput_gb_per_s: 8 },
    ];
    const more = withSamples(before, { trial: 'a', points });
    expect(more.goodput).toEqual([
      [1, 5],
      [2, 6],
      [3, 8],
    ]);
    expect([more.queue, more.marked, more.paused]).toEqual([[[2, 7]], [[2, 0]], [[2, 0.5]]]);
    expect(withSamples(more, { trial: 'b', points: [] })).toMatchObject({ goodput: [], queue: [] });
  });

  it('long series are thinned', () => {
    const many = Array.from({ length: 4001 }, (_, at): [number, number] => [at, 0]);
    expect(thinned(many)).toHaveLength(2001);
  });
});

describe('comparison', () => {
  const metric = {
    unit: '',
    direction: 'lower' as const,
    first: 1,
    second: 2,
    ratio: 2,
    verdict: 'worse' as const,
  };

  it('pairs with the same first job stand together', () => {
    const trial = (id: string) => ({
      id,
      tag: '',
      plan: 'p',
      variant: 'base',
      iteration: 0,
      backend: 'sim',
      backend_version: '1',
      axes: {},
      job: 'j',
      data_size_bytes: 1,
    });
    const pair = (id: string, job = 'j') => ({
      first: { ...trial('a'), job },
      second: { ...trial(id), job },
      metrics: { x: metric },
    });
    const compared = { compared: ['a', 'b', 'c'], parameters: [] };
    const found = groups({ ...compared, jobs: [pair('b'), pair('c')] }, new Set(['x']));
    expect(found).toHaveLength(1);
    expect(found[0]?.others.map((other) => other.second.id)).toEqual(['b', 'c']);
    expect(found[0]?.metrics).toEqual(['x']);

    const several = groups({ ...compared, jobs: [pair('b'), pair('b', 'k')] }, new Set(['x']));
    expect(several.map(({ isFabric, metrics }) => [isFabric, metrics])).toEqual([
      [false, []],
      [false, []],
      [true, ['x']],
    ]);
  });

  it('ratios are percent when near, factors when far', () => {
    expect(ratioText(1.0324)).toBe('+3.24 %');
    expect(ratioText(0.9)).toBe('−10.0 %');
    expect(ratioText(4.1)).toBe('×4.10');
    expect(ratioText(1)).toBe('=');
    expect(ratioText(null)).toBe('');
  });

  it('values equal to a thousandth do not differ', () => {
    expect(differs(metric)).toBe(true);
    expect(differs({ ...metric, ratio: 1.0005 })).toBe(false);
    expect(differs({ ...metric, ratio: null, first: 0, second: 0 })).toBe(false);
  });
});
