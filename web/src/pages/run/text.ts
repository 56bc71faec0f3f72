import type { Run } from '../../api/types';

/** "3 of 10". */
export function doneText(run: Run): string {
  const done = run.trials.filter(
    (trial) => trial.status === 'complete' || trial.status === 'incomplete',
  ).length;
  return `${done} of ${run.trials.length}`;
}
