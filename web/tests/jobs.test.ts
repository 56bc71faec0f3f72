/** Tests of trials with several jobs: represented job, texts, shared causes. */
import { expect, test } from 'vitest';

import type { Finding } from '../src/api/types';
import { firstCauses, jobsText, sentence, shownJob, worstText } from '../src/format/jobs';

const jobs = [{ job: 'ring' }, { job: 'noisy' }];

const noisy = { job: 'noisy', data_size_bytes: 1, why: 'reaches 39.6 % of its ideal, the least' };

test('the job that the server names represents a trial', () => {
  const trial = { ranks: 24, worst: { job: 'noisy', kept_percent: 62.13 }, leading: noisy };
  expect(shownJob(trial, jobs)).toEqual({ job: 'noisy' });
  expect(worstText(trial)).toBe('noisy 62.1 %');
});

test('where no job leads the first is shown', () => {
  const trial = { ranks: 24, worst: null, leading: null };
  expect(shownJob(trial, jobs)).toEqual({ job: 'ring' });
  expect(worstText(trial)).toBe('');
});

test('a sentence begins with a capital letter and ends with a full stop', () => {
  expect(sentence('links are full')).toBe('Links are full.');
  expect(sentence('Why?')).toBe('Why?');
});

test('a cause of several jobs appears once', () => {
  const of = (sentence: string, where = ['leaf0']) =>
    [{ cause: 'latency', sentence, where, remedies: [] }] as unknown as Finding[];
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
  const latency = firstCauses([
    { job: 'red', diagnosis: of('90 % of the time', []) },
    { job: 'blue', diagnosis: of('91 % of the time', []) },
  ]);
  expect(latency.map(({ jobs }) => jobs)).toEqual([['red', 'blue']]);
});
