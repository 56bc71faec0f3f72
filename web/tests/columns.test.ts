/** Tests of the range of visible table columns. */
import { expect, test } from 'vitest';

import { columnsBetween } from '../src/components/table/columnWindow';
import { cellText, gridColumns } from '../src/pages/trial/RecordTables';

test('columns out of sight are not drawn', () => {
  const widths = [100, 50, 50, 100, 200];
  expect(columnsBetween(widths, 0, 120)).toEqual({ from: 0, to: 2 });
  expect(columnsBetween(widths, 160, 260)).toEqual({ from: 2, to: 4 });
  expect(columnsBetween(widths, -50, 9_999)).toEqual({ from: 0, to: 5 });
});

test('all columns are drawn if some have relative widths', () => {
  expect(columnsBetween([100, 'minmax(90px, 1fr)'], 0, 50)).toEqual({ from: 0, to: 2 });
});

test('columns of a narrow table share the width, those of a wide one have their own', () => {
  const column = (name: string) => ({ name, type: 'Int64' });
  const widths = (count: number) =>
    gridColumns(Array.from({ length: count }, (_, index) => column(`c${index}`))).map(({ width }) => width);
  expect(widths(2)).toEqual(['minmax(74px, 1fr)', 'minmax(74px, 1fr)']);
  expect(new Set(widths(40))).toEqual(new Set([74]));
});

test('times and rates have the unit that suits them', () => {
  expect(cellText('busy_ps', 2_593_700_000)).toBe('2.5937 ms');
  expect(cellText('rate_bps', 400_000_000_000)).toBe('400 Gb/s');
  expect(cellText('qp', 12_345)).toBe('12345');
});
