import { expect, test } from 'vitest';

import { shownJob, shownText, worstText } from '../src/format/jobs';

const jobs = [{ job: 'ring' }, { job: 'noisy' }];

test('the job that fares worst against its run alone stands for a trial', () => {
  const trial = { ranks: 24, worst: { job: 'noisy', kept_percent: 62.13 } };
  expect(shownJob(trial, jobs)).toEqual({ job: 'noisy' });
  expect(worstText(trial)).toBe('noisy 62.1 %');
  expect(shownText(trial, jobs)).toBe(
    'Figures of job noisy, which fares worst: it keeps 62.1 % of its bus bandwidth alone; 2 jobs, 24 ranks in all',
  );
});

test('where no job was run alone the first is shown, and named', () => {
  const trial = { ranks: 24, worst: null };
  expect(shownJob(trial, jobs)).toEqual({ job: 'ring' });
  expect(worstText(trial)).toBe('');
  expect(shownText(trial, jobs)).toBe('Figures of job ring, the first; 2 jobs, 24 ranks in all');
});

test('a single job needs no name', () => {
  expect(shownText({ ranks: 8, worst: null }, jobs.slice(0, 1))).toBe('');
  expect(shownText({ ranks: 0, worst: null }, [])).toBe('');
});
