/** Tests of the range of visible table columns. */
import { expect, test } from 'vitest';

import { columnsBetween } from '../src/components/table/columnWindow';

test('columns out of sight are not drawn', () => {
  const widths = [100, 50, 50, 100, 200];
  expect(columnsBetween(widths, 0, 120)).toEqual({ from: 0, to: 2 });
  expect(columnsBetween(widths, 160, 260)).toEqual({ from: 2, to: 4 });
  expect(columnsBetween(widths, -50, 9_999)).toEqual({ from: 0, to: 5 });
});

test('all columns are drawn if some have relative widths', () => {
  expect(columnsBetween([100, 'minmax(90px, 1fr)'], 0, 50)).toEqual({ from: 0, to: 2 });
});
