/**
 * Texts of runs and campaigns: finished trials, backend or hosts, reason for waiting; time that a run took;
 * selects the trial whose predictions the page of a run shows.
 */
import type { Campaign, Run, RunDetail, RunTrial } from '../../api/types';
import { counted, duration } from '../../format/numbers';

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

/** State of a run; of a complete one with an incomplete trial `incomplete`. */
export function endText({ state, trials }: Pick<RunDetail, 'state' | 'trials'>): string {
  return state === 'complete' && trials.some(({ status }) => status === 'incomplete') ? 'incomplete' : state;
}

/** Reason why a queued run waits. */
export function waitText({ position, waits_for }: Pick<Run, 'position' | 'waits_for'>): string {
  if (waits_for !== '') return `waits for ${waits_for}`;
  return position === null ? 'waits' : `waits at position ${position}`;
}

export function isFinished({ status }: RunTrial): boolean {
  return status === 'complete' || status === 'incomplete';
}

/** Time that a run took, such as "took 12 s"; empty before its end. */
export function takenText({ started_at, ended_at }: Pick<Run, 'started_at' | 'ended_at'>): string {
  if (started_at === null || ended_at === null) return '';
  return `took ${duration((Date.parse(ended_at) - Date.parse(started_at)) / 1000)}`;
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
