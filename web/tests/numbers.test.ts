/** Tests of number formats and of the values and headings of metrics. */
import { describe, expect, it } from 'vitest';

import type { JobMetrics, Metric } from '../src/api/types';
import {
  metricLabel,
  metricOf,
  metricsOf,
  metricText,
  scaled,
  unitFor,
  valueWithUnit,
} from '../src/format/metrics';
import { dataSize, duration, fileSize, short, significant, simulatedTime } from '../src/format/numbers';

describe('numbers', () => {
  it('data sizes count 1 KB as 1,024 bytes', () => {
    expect(dataSize(16 * 1024 * 1024)).toBe('16 MB');
    expect(dataSize(1536)).toBe('1.5 KB');
    expect(dataSize(1000)).toBe('1,000 B');
    expect(dataSize(null)).toBe('–');
  });

  it('significant digits keep whole numbers whole', () => {
    expect(significant(1234567)).toBe('1,234,567');
    expect(significant(1.216023, 5)).toBe('1.216');
    expect(significant(0.081228, 4)).toBe('0.08123');
    expect(significant(Number.NaN)).toBe('–');
  });

  it('simulated time takes the unit that suits it', () => {
    expect(simulatedTime(0)).toBe('0');
    expect(simulatedTime(2_776_650_000)).toBe('2.7767 ms');
    expect(simulatedTime(697_120)).toBe('697.12 ns');
  });

  it('durations, files and counts are short', () => {
    expect(duration(0.42)).toBe('0.42 s');
    expect(duration(200)).toBe('3 min 20 s');
    expect(duration(7500)).toBe('2 h 5 min');
    expect(fileSize(117039104)).toBe('117 MB');
    expect(fileSize(0)).toBe('0 B');
    expect(short(33_792)).toBe('33.8 k');
  });
});

describe('metrics', () => {
  const base = {
    direction: 'lower' as const,
    scope: 'job' as const,
    point: 'endpoint' as const,
    digits: null,
    decimals: 0,
    label: '',
    views: [],
  };
  const metrics: Metric[] = [
    {
      ...base,
      name: 'busbw_gb_per_s',
      title: 'Bus bandwidth',
      unit: 'GB/s',
      group: '',
      kind: 'collective',
      ratio: 'busbw_ratio',
      views: ['tiles'],
    },
    {
      ...base,
      name: 'iops',
      title: 'Operations',
      unit: '1/s',
      group: '',
      kind: 'storage',
      ratio: '',
      views: ['tiles'],
    },
    {
      ...base,
      name: 'fct_ms_p99',
      title: 'FCT P99',
      unit: 'ms',
      group: 'fct_ms',
      kind: null,
      ratio: '',
      views: ['tiles'],
    },
    { ...base, name: 'jain_fairness', title: 'Fairness', unit: '', group: '', kind: null, ratio: '' },
  ];
  const job = { job: 'test', ranks: 8, status: 'complete', fct_ms: { p99: 1.5 } } as unknown as JobMetrics;

  it('a label has the title and the unit that are declared', () => {
    const names = ['fct_ms_p99', 'jain_fairness', 'busbw_ratio', 'other'];
    const labels = names.map((name) => metricLabel(metrics, name));
    expect(labels).toEqual(['FCT P99 [ms]', 'Fairness', 'Bus bandwidth, ratio', 'other']);
  });

  it('values stand by their name or in their group', () => {
    expect(metrics.map((metric) => metricOf({ ...job, busbw_gb_per_s: 40 }, metric))).toEqual([
      40,
      null,
      1.5,
      null,
    ]);
  });

  it('a job has the metrics of the kinds that it has values of', () => {
    const shown = (more: object) => metricsOf(metrics, 'tiles', { ...job, ...more }).map(({ name }) => name);
    expect(shown({})).toEqual(['busbw_gb_per_s', 'fct_ms_p99']);
    expect(shown({ iops: 5 })).toEqual(['iops', 'fct_ms_p99']);
  });
});

describe('units of metrics', () => {
  const metric = {
    direction: 'lower' as const,
    scope: 'job' as const,
    point: 'endpoint' as const,
    digits: null,
    decimals: 0,
    label: '',
    views: [],
    title: '',
    group: '',
    kind: null,
    ratio: '',
  };

  it('times that are all below 0.1 ms are in microseconds', () => {
    const times: Metric = { ...metric, name: 'completion_time_ms', unit: 'ms', digits: 5, decimals: null };
    expect(unitFor(times, [0.0016485, 0, null])).toEqual({ unit: 'us', factor: 1000 });
    expect(unitFor(times, [0.0016485, 0.2]).unit).toBe('ms');
    expect(unitFor(times, [null, 0]).unit).toBe('ms');
    expect(scaled(0.0016485, { unit: 'us', factor: 1000 })).toBe(1.6485);
    expect([0.0016485, 2.8543, null].map((value) => valueWithUnit(value, times))).toEqual([
      '1.6485 us',
      '2.8543 ms',
      '–',
    ]);
  });

  it('a value keeps four digits where its decimals would leave one', () => {
    const bandwidth: Metric = { ...metric, name: 'busbw_gb_per_s', unit: 'GB/s', decimals: 2 };
    const values = [48.291, 0.4639, 0.0051276, 0].map((value) => metricText(value, bandwidth));
    expect(values).toEqual(['48.29', '0.46', '0.005128', '0']);
  });
});
