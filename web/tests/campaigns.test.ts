import { describe, expect, test } from 'vitest';

import type { CampaignAnalysis, CampaignSetting } from '../src/api/campaigns';
import { answers, asOf, endingText, heads, percentText } from '../src/pages/campaign/campaignText';

const progress = (state: string, trials: number) =>
  ({ state, trials, failed: 0 }) as Parameters<typeof asOf>[0]['progress'];

test('an analysis is asked for again after each part of the trials, and at the end', () => {
  expect(
    [0, 1, 49, 50, 99, 100].map((recorded) => asOf({ progress: progress('running', 2_000), recorded })),
  ).toEqual([0, 1, 49, 50, 50, 100]);
  expect(asOf({ progress: progress('complete', 2_000), recorded: 1_999 })).toBe(1_999);
});

test('factors are called by the last part of their names where that tells them apart', () => {
  expect(heads(['plan', 'a.kmin', 'b.kmin', 'transport.ack_every'])).toEqual([
    'plan',
    'a.kmin',
    'b.kmin',
    'ack_every',
  ]);
});

test('per cent have three digits', () => {
  expect([59.87, -6.241, 0.001, 123.4, 0].map((each) => percentText(each, { signed: true }))).toEqual([
    '+59.9',
    '-6.24',
    '0.00',
    '+123',
    '0.00',
  ]);
  expect(percentText(null)).toBe('–');
});

describe('what is read first', () => {
  const setting = (size: string, mean: number): CampaignSetting => ({
    data_size: size,
    mean,
    margin: null,
    seeds: 1,
  });
  const told = {
    unit: 'ms',
    factors: ['data_size'],
    best: [setting('1 MB', 90), setting('2 MB', 180)],
    worst: [],
    effects: [{ factor: 'data_size', value: '1 MB', mean: 90, percent: -33, margin_percent: null }],
    variance: [{ source: 'data_size', share: 0.985 }],
  } as unknown as CampaignAnalysis;

  test('is the best, the worst, and what matters most', () => {
    expect(answers(told)).toEqual([
      { label: 'Best', value: '90 ms', about: 'data_size 1 MB' },
      { label: 'Worst', value: '180 ms', about: 'data_size 2 MB' },
      { label: 'Matters most', value: 'data_size', about: '98.5 % of the variance' },
    ]);
  });

  test('of a single setting has no worst, and of none is nothing', () => {
    expect(answers({ ...told, best: told.best.slice(0, 1), effects: [] })).toHaveLength(1);
    expect(answers({ ...told, best: [] })).toEqual([]);
  });
});

test('a campaign that has not all of its records says why', () => {
  expect(endingText({ state: 'complete', failed: 0, trials: 3 })).toBe('');
  expect(endingText({ state: 'complete', failed: 1, trials: 3 })).toContain('1 of 3 trials failed');
  expect(endingText({ state: 'failed', failed: 0, trials: 3 })).toContain('The same command goes on');
});
