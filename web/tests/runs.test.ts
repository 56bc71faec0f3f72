import { describe, expect, it } from 'vitest';

import { thinned, withProgress } from '../src/api/events';
import { differs, groups, ratioText } from '../src/pages/compare/groups';

const before = {
  progress: { share: 0.1, trial: 'a' },
  samples: [{ at_ps: 1 }, { at_ps: 2 }],
  connected: true,
};

describe('events of a run', () => {
  it('samples are added once, and a new trial begins with none', () => {
    const more = withProgress(before, { share: 0.2, trial: 'a', samples: [{ at_ps: 2 }, { at_ps: 3 }] });
    expect(more.samples.map((sample) => sample.at_ps)).toEqual([1, 2, 3]);
    expect(withProgress(before, { share: 0.2, trial: 'b', samples: [{ at_ps: 1 }] }).samples).toEqual([
      { at_ps: 1 },
    ]);
  });

  it('long series are thinned', () => {
    const many = Array.from({ length: 4001 }, (_, at_ps) => ({ at_ps }));
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
      job: 'j',
      data_size_bytes: 1,
    });
    const pair = (id: string) => ({ first: trial('a'), second: trial(id), metrics: { x: metric } });
    const found = groups({ compared: ['a', 'b', 'c'], parameters: [], jobs: [pair('b'), pair('c')] });
    expect(found).toHaveLength(1);
    expect(found[0]?.others.map((other) => other.second.id)).toEqual(['b', 'c']);
    expect(found[0]?.metrics).toEqual(['x']);
  });

  it('ratios are percent when near, factors when far', () => {
    expect(ratioText(1.0324)).toBe('+3.24 %');
    expect(ratioText(0.9)).toBe('−10.0 %');
    expect(ratioText(4.1)).toBe('×4.10');
    expect(ratioText(1)).toBe('=');
    expect(ratioText(null)).toBe('');
  });

  it('what is equal to a thousandth does not differ', () => {
    expect(differs(metric)).toBe(true);
    expect(differs({ ...metric, ratio: 1.0005 })).toBe(false);
    expect(differs({ ...metric, ratio: null, first: 0, second: 0 })).toBe(false);
  });
});
