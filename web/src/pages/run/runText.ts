/**
 * Texts of runs and campaigns: finished trials, backend or hosts, reason for waiting; selects the trials whose charts
 * and predictions the page of a run shows.
 */
import type { Campaign, Run, RunDetail, RunTrial } from '../../api/types';
import { counted } from '../../format/numbers';

/** Finished trials of a run: "3 of 10". */
export function doneText(run: Run): string {
  return `${run.trials_finished} of ${run.trials_total}`;
}

/** Ended trials of a campaign, with and without a record: "1,203 of 2,000". */
export function endedText({ kept, finished, failed, trials }: Campaign): string {
  return `${counted(kept + finished + failed)} of ${counted(trials)}`;
}

/** Backend or hosts of a run, such as "on hosts rack, with its prediction"; empty for the simulator alone. */
export function whereText({ backend, hosts, twin }: Pick<Run, 'backend' | 'hosts' | 'twin'>): string {
  const where = hosts === null ? (backend === 'sim' ? '' : backend) : `on hosts ${hosts}`;
  return twin ? `${where}, with its prediction` : where;
}

/** Reason why a queued run waits. */
export function waitText({ position, waits_for }: Pick<Run, 'position' | 'waits_for'>): string {
  if (waits_for !== '') return `waits for ${waits_for}`;
  return position === null ? 'waits' : `waits at position ${position}`;
}

export function isFinished({ status }: RunTrial): boolean {
  return status === 'complete' || status === 'incomplete';
}

/** Last finished trial of a run; null if there is none. */
export function lastFinished(run: RunDetail): string | null {
  return run.trials.findLast(isFinished)?.id ?? null;
}

/** First measured trial of a run with predictions; null for other runs. */
export function firstTwin(run: RunDetail): string | null {
  if (!run.twin) return null;
  return run.trials.find((trial) => trial.backend === run.backend && isFinished(trial))?.id ?? null;
}

/** Whether the current trial is measured: its time is then wall-clock time, and it has no queues to show. */
export function isMeasured(run: RunDetail, trial: string | null): boolean {
  const backend = run.trials.find(({ id }) => id === trial)?.backend ?? run.backend;
  return backend !== 'sim' && backend !== '';
}
