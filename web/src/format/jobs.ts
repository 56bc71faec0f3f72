/**
 * Selects and names jobs of trials with several jobs: the job that represents a trial, names with data sizes, the job
 * that loses most against running alone, likely causes that jobs share.
 */
import type { Finding, JobDetail, JobMetrics, Trial } from '../api/types';
import { dataSize, fixed } from './numbers';

interface SharedCause {
  jobs: string[];
  cause: Finding;
}

type Several = Pick<Trial, 'ranks' | 'worst' | 'leading'>;
type Named = Pick<JobMetrics, 'job'> & { data_size_bytes?: number | null };

/** The job that represents a trial: a failed one, or the one with the least percentage of its ideal. */
export function shownJob<Job extends Named>(
  { leading }: Pick<Several, 'leading'>,
  jobs: readonly Job[],
): Job | undefined {
  const named = jobs.filter(({ job }) => job === leading?.job);
  return (
    named.find(({ data_size_bytes }) => data_size_bytes === leading?.data_size_bytes) ?? named[0] ?? jobs[0]
  );
}

/** Name of a job, with its data size if the trial has results of several sizes. */
export function jobName(
  jobs: readonly Pick<JobMetrics, 'job'>[],
  { job, data_size_bytes }: Pick<JobMetrics, 'job'> & { data_size_bytes?: number | null },
): string {
  const hasSizes = jobs.filter((other) => other.job === job).length > 1;
  return hasSizes ? `${job} ${dataSize(data_size_bytes)}` : job;
}

/** The worst job and its percentage of its bandwidth alone, such as `ring 62.1 %`; empty if no job was run alone. */
export function worstText({ worst }: Pick<Several, 'worst'>): string {
  return worst ? `${worst.job} ${fixed(worst.kept_percent, 1)} %` : '';
}

/**
 * First cause of each slow job, in the order of the jobs: one for jobs with the same sentence, or with the same cause if
 * it has no location.
 */
export function firstCauses(jobs: readonly Pick<JobDetail, 'job' | 'diagnosis'>[]): SharedCause[] {
  const causes = new Map<string, SharedCause>();
  for (const { job, diagnosis } of jobs) {
    const cause = diagnosis?.[0];
    if (cause === undefined) continue;
    const key = cause.where.length === 0 ? cause.cause : cause.sentence;
    const shared = causes.get(key) ?? { jobs: [], cause };
    if (!shared.jobs.includes(job)) shared.jobs.push(job);
    causes.set(key, shared);
  }
  return [...causes.values()];
}

/** Names of jobs in a sentence, such as `jobs red, green and blue`. */
export function jobsText(names: readonly string[]): string {
  const [last, ...others] = names.toReversed();
  return others.length === 0 ? `job ${last}` : `jobs ${others.toReversed().join(', ')} and ${last}`;
}

/** A text with a capital letter at its beginning and a full stop at its end. */
export function sentence(text: string): string {
  const end = /[.!?]$/.test(text) || text === '' ? '' : '.';
  return text.charAt(0).toUpperCase() + text.slice(1) + end;
}
