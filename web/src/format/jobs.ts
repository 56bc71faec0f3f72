import type { JobMetrics, Trial } from '../api/types';
import { fixed, whole } from './numbers';

type Several = Pick<Trial, 'ranks' | 'worst'>;

/** The job whose figures stand for a trial: the one that fares worst against its run alone, or the first. */
export function shownJob<Job extends Pick<JobMetrics, 'job'>>(
  trial: Several,
  jobs: readonly Job[],
): Job | undefined {
  return jobs.find(({ job }) => job === trial.worst?.job) ?? jobs[0];
}

/** The worst job and what it keeps, such as `ring 62.1 %`; empty where none was run alone. */
export function worstText({ worst }: Pick<Several, 'worst'>): string {
  return worst ? `${worst.job} ${fixed(worst.kept_percent, 1)} %` : '';
}

/** Which job is shown of several, and how many ranks they have; empty for a single job. */
export function shownText(trial: Several, jobs: readonly Pick<JobMetrics, 'job'>[]): string {
  const shown = shownJob(trial, jobs);
  if (shown === undefined || jobs.length < 2) return '';
  const why = trial.worst
    ? `, which fares worst: it keeps ${fixed(trial.worst.kept_percent, 1)} % of its `
    : '';
  const alone = trial.worst ? 'bus bandwidth alone' : ', the first';
  return `Figures of job ${shown.job}${why}${alone}; ${jobs.length} jobs, ${whole(trial.ranks)} ranks in all`;
}
