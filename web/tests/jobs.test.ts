import { expect, test } from 'vitest';

import type { Finding } from '../src/api/types';
import { firstCauses, jobsText, shownJob, shownText, worstText } from '../src/format/jobs';

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

test('a cause that several jobs share is told once', () => {
  const of = (sentence: string) => [{ sentence, remedies: [] }] as unknown as Finding[];
  const told = firstCauses([
    { job: 'red', diagnosis: of('a full uplink') },
    { job: 'grey', diagnosis: of('losses') },
    { job: 'idle', diagnosis: [] },
    { job: 'blue', diagnosis: of('a full uplink') },
  ]);
  expect(told.map((each) => [jobsText(each.jobs), each.cause.sentence])).toEqual([
    ['jobs red and blue', 'a full uplink'],
    ['job grey', 'losses'],
  ]);
  expect(jobsText(['a', 'b', 'c'])).toBe('jobs a, b and c');
});
