/** Tests of a campaign's texts: refresh of its analysis, factors, percentages, highlights, reason of its end. */
import { describe, expect, test } from 'vitest';

import type { CampaignAnalysis, CampaignSetting } from '../src/api/types';
import { asOf, endingText, heads, highlights, percentText } from '../src/pages/campaign/campaignText';

const progress = (state: string, trials: number) =>
  ({ state, trials, failed: 0 }) as Parameters<typeof asOf>[0]['progress'];

test('an analysis is refreshed after each part of the trials, and at the end', () => {
  expect(
    [0, 1, 49, 50, 99, 100].map((recorded) => asOf({ progress: progress('running', 2_000), recorded })),
  ).toEqual([0, 1, 49, 50, 50, 100]);
  expect(asOf({ progress: progress('complete', 2_000), recorded: 1_999 })).toBe(1_999);
});

test('factors are named by the last part of their names where those differ', () => {
  expect(heads(['plan', 'a.kmin', 'b.kmin', 'transport.ack_every'])).toEqual([
    'plan',
    'a.kmin',
    'b.kmin',
    'ack_every',
  ]);
});

test('percentages have three digits', () => {
  expect([59.87, -6.241, 0.001, 123.4, 0].map((each) => percentText(each, { signed: true }))).toEqual([
    '+59.9',
    '-6.24',
    '0.00',
    '+123',
    '0.00',
  ]);
  expect(percentText(null)).toBe('–');
});

describe('highlights of an analysis', () => {
  const setting = (size: string, mean: number): CampaignSetting => ({
    data_size: size,
    mean,
    margin: null,
    seeds: 1,
  });
  const analysis = {
    unit: 'ms',
    factors: ['data_size'],
    best: [setting('1 MB', 90), setting('2 MB', 180)],
    worst: [],
    effects: [{ factor: 'data_size', value: '1 MB', mean: 90, percent: -33, margin_percent: null }],
    variance: [{ source: 'data_size', share: 0.985 }],
  } as unknown as CampaignAnalysis;

  test('are the best and worst settings and the factor with the largest effect', () => {
    expect(highlights(analysis)).toEqual([
      { label: 'Best', value: '90 ms', about: 'data_size 1 MB' },
      { label: 'Worst', value: '180 ms', about: 'data_size 2 MB' },
      { label: 'Largest effect', value: 'data_size', about: '98.5 % of the variance' },
    ]);
  });

  test('have no worst of a single setting, and are empty without settings', () => {
    expect(highlights({ ...analysis, best: analysis.best.slice(0, 1), effects: [] })).toHaveLength(1);
    expect(highlights({ ...analysis, best: [] })).toEqual([]);
  });
});

test('a campaign without all of its records shows the reason', () => {
  expect(endingText({ state: 'complete', failed: 0, trials: 3 })).toBe('');
  expect(endingText({ state: 'complete', failed: 1, trials: 3 })).toContain('1 of 3 trials failed');
  expect(endingText({ state: 'failed', failed: 0, trials: 3 })).toContain('The same command runs the rest');
});
