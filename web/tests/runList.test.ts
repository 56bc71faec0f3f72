/** Tests of the texts in the list of runs and of a metric's worst job. */
import { expect, test } from 'vitest';

import type { RunListRow } from '../src/api/types';
import { worstBy } from '../src/format/metrics';
import { percentRange, sameText, spanText } from '../src/pages/workspace/listText';

const run = {
  swept: {},
  sizes: 4,
  variants: 1,
  iterations: 3,
  times: 1,
  changes: 0,
  same_plan_as: null,
} as RunListRow;

test('numbers of sizes, variants and iterations appear if above one', () => {
  expect(spanText(run)).toBe('4 sizes, 3 iterations');
  expect(spanText({ ...run, swept: { 'fabric.switch.ecn.kmin': 4 } })).toBe('kmin ×4, 4 sizes, 3 iterations');
  expect(percentRange([12.34, 98.76])).toBe('12.3 – 98.8');
  expect(percentRange([50.01, 50.02])).toBe('50.0');
  expect(percentRange(null)).toBe('–');
});

test('a plan that ran again is shown as such', () => {
  expect(sameText(run)).toEqual({ text: '', isOther: false });
  expect(sameText({ ...run, times: 3 }).text).toBe('3 times, same results');
  expect(sameText({ ...run, times: 3, changes: 1 })).toEqual({
    text: '3 times, other results',
    isOther: true,
  });
  const again = { ...run, same_plan_as: 'feed', same_results: true };
  expect(sameText(again).text).toBe('same plan as feed, same results');
  expect(sameText({ ...again, same_results: false }).isOther).toBe(true);
});

test('the worst job of a metric depends on which value is better', () => {
  const jobs = [
    { job: 'a', x: 1 },
    { job: 'b', x: 5 },
    { job: 'c', x: null, status: 'complete' },
    { job: 'd', x: null, status: 'incomplete' },
  ] as never[];
  const metric = { name: 'x', group: '' };
  expect(worstBy(jobs.slice(0, 3), { ...metric, direction: 'higher' } as never)).toMatchObject({ job: 'a' });
  expect(worstBy(jobs.slice(0, 3), { ...metric, direction: 'lower' } as never)).toMatchObject({ job: 'b' });
  expect(worstBy(jobs, { ...metric, direction: 'lower' } as never)).toMatchObject({ job: 'd' });
  expect(worstBy(jobs.slice(2, 3), { ...metric, direction: 'lower' } as never)).toMatchObject({ job: 'c' });
});
