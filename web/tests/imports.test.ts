/** Tests of imported files: lines around errors, runs, size limit, labels in messages. */
import { expect, test } from 'vitest';

import type { Trial } from '../src/api/types';
import {
  BYTES_MAX,
  IMPORT_LABELS,
  linesAround,
  runsOf,
  sizeProblem,
  withFormLabels,
} from '../src/pages/imports/importFile';

test('a line is shown with the lines around it', () => {
  const text = 'one\ntwo\r\nthree\nfour';
  expect(linesAround(text, 2, 1)).toEqual([
    { number: 1, text: 'one' },
    { number: 2, text: 'two' },
    { number: 3, text: 'three' },
  ]);
  expect(linesAround(text, 1, 1).map(({ number }) => number)).toEqual([1, 2]);
  expect(linesAround(text, 9)).toEqual([]);
});

test('a file that the server would refuse is not sent', () => {
  expect(sizeProblem({ name: 'a', size: BYTES_MAX })).toBeNull();
  expect(sizeProblem({ name: 'a', size: BYTES_MAX + 1 })).toContain('16 MiB');
  expect(sizeProblem({ name: 'a', size: 0 })).toContain('empty');
});

test('trials of a run stay together, in the order of the file', () => {
  const trials = ['x', 'y', 'x'].map((suite, index) => ({ suite, id: String(index) }) as Trial);
  expect(runsOf(trials).map((run) => run.trials.map(({ id }) => id))).toEqual([['0', '2'], ['1']]);
});

test('options of the command line become labels of the form', () => {
  expect(withFormLabels('say it: --ranks N', IMPORT_LABELS)).toBe('say it: “Ranks”');
  expect(withFormLabels('--benchmark all_reduce_perf --ranks 4', IMPORT_LABELS)).toBe(
    '“Benchmark” all_reduce_perf “Ranks” 4',
  );
  expect(withFormLabels('it printed --report_gbits and ranks', IMPORT_LABELS)).toBe(
    'it printed --report_gbits and ranks',
  );
});
