import type { Run } from '../../api/types';

/** "3 of 10". */
export function doneText(run: Run): string {
  return `${run.trials_finished} of ${run.trials_total}`;
}
