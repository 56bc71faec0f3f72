/** Tests of trials with several jobs: represented job, order, texts, shared causes. */
import { expect, test } from 'vitest';

import type { Finding } from '../src/api/types';
import { firstCauses, jobsText, shownFirst, shownJob, shownText, worstText } from '../src/format/jobs';

const jobs = [{ job: 'ring' }, { job: 'noisy' }];

const noisy = { job: 'noisy', data_size_bytes: 1, why: 'reaches 39.6 % of its ideal, the least' };

test('the job that the server names represents a trial', () => {
  const trial = { ranks: 24, worst: { job: 'noisy', kept_percent: 62.13 }, leading: noisy };
  expect(shownJob(trial, jobs)).toEqual({ job: 'noisy' });
  expect(worstText(trial)).toBe('noisy 62.1 %');
  expect(shownText(trial, jobs)).toBe(
    'Figures of job noisy, which reaches 39.6 % of its ideal, the least and keeps 62.1 % of its bus bandwidth alone; ' +
      '2 jobs, 24 ranks in all',
  );
  const other = { ...trial, worst: { job: 'ring', kept_percent: 100 } };
  expect(shownJob(other, jobs)).toEqual({ job: 'noisy' });
  expect(shownText(other, jobs)).toContain(
    '; job ring keeps least of its bus bandwidth alone, 100.0 %; 2 jobs',
  );
  expect(shownFirst(other, jobs)).toEqual([{ job: 'noisy' }, { job: 'ring' }]);
});

test('where no job leads the first is shown, and named', () => {
  const trial = { ranks: 24, worst: null, leading: null };
  expect(shownJob(trial, jobs)).toEqual({ job: 'ring' });
  expect(worstText(trial)).toBe('');
  expect(shownText(trial, jobs)).toBe('Figures of job ring, the first; 2 jobs, 24 ranks in all');
});

test('a single job needs no name', () => {
  expect(shownText({ ranks: 8, worst: null, leading: null }, jobs.slice(0, 1))).toBe('');
  expect(shownText({ ranks: 0, worst: null, leading: null }, [])).toBe('');
});

test('a cause of several jobs appears once', () => {
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
