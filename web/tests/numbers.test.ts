import { describe, expect, it } from 'vitest';

import { metricLabel, flatMetrics } from '../src/format/metrics';
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
    expect(simulatedTime(0)).toBe('0 ps');
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
  it('a label has the unit that the name carries', () => {
    expect(metricLabel('fct_ms_p99')).toBe('flow completion time P99 [ms]');
    expect(metricLabel('busbw_gb_per_s')).toBe('bus bandwidth [GB/s]');
    expect(metricLabel('frames_lost')).toBe('frames lost');
  });

  it('groups are flattened and what is no number is left out', () => {
    const job = {
      job: 'test',
      ranks: 8,
      fct_ms: { p50: 1, p99: null },
      pfc_rx: 0,
      criteria: [],
      status: 'complete',
    };
    expect([...flatMetrics(job)]).toEqual([
      ['fct_ms_p50', 1],
      ['fct_ms_p99', null],
      ['pfc_rx', 0],
    ]);
  });
});
