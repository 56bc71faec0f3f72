/**
 * Selects and names jobs of trials with several jobs: the job that represents a trial, names with data sizes, the job
 * that loses most against running alone, likely causes that jobs share.
 */
import type { Finding, JobDetail, JobMetrics, Trial } from '../api/types';
import { dataSize, fixed, whole } from './numbers';

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

/** Jobs of a trial, beginning with the one that represents it. */
export function shownFirst<Job extends Named>(trial: Pick<Several, 'leading'>, jobs: readonly Job[]): Job[] {
  const first = shownJob(trial, jobs);
  return first === undefined ? [] : [first, ...jobs.filter((job) => job !== first)];
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

/** Sentence that names the job shown of several, and the number of ranks; empty for a single job. */
export function shownText(trial: Several, jobs: readonly Pick<JobMetrics, 'job'>[]): string {
  const shown = shownJob(trial, jobs);
  if (shown === undefined || jobs.length < 2) return '';
  const why = trial.leading ? `, which ${trial.leading.why}` : ', the first';
  const { worst } = trial;
  const kept =
    worst?.job === shown.job
      ? ` and keeps ${fixed(worst.kept_percent, 1)} % of its bus bandwidth alone`
      : worst
        ? `; job ${worst.job} keeps least of its bus bandwidth alone, ${fixed(worst.kept_percent, 1)} %`
        : '';
  const count = new Set(jobs.map(({ job }) => job)).size;
  const all = count === 1 ? '1 job' : `${count} jobs`;
  return `Figures of job ${jobName(jobs, shown)}${why}${kept}; ${all}, ${whole(trial.ranks)} ranks in all`;
}

/** First cause of each slow job, grouped by cause, in the order of the jobs. */
export function firstCauses(jobs: readonly Pick<JobDetail, 'job' | 'diagnosis'>[]): SharedCause[] {
  const causes = new Map<string, SharedCause>();
  for (const { job, diagnosis } of jobs) {
    const cause = diagnosis?.[0];
    if (cause === undefined) continue;
    const shared = causes.get(cause.sentence) ?? { jobs: [], cause };
    if (!shared.jobs.includes(job)) shared.jobs.push(job);
    causes.set(cause.sentence, shared);
  }
  return [...causes.values()];
}

/** Names of jobs in a sentence, such as `jobs red, green and blue`. */
export function jobsText(names: readonly string[]): string {
  const [last, ...others] = names.toReversed();
  return others.length === 0 ? `job ${last}` : `jobs ${others.toReversed().join(', ')} and ${last}`;
}
