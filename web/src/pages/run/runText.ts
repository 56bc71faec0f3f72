import type { Campaign, Run, RunDetail, RunTrial } from '../../api/types';
import { counted } from '../../format/numbers';

/** "3 of 10". */
export function doneText(run: Run): string {
  return `${run.trials_finished} of ${run.trials_total}`;
}

/** How many trials of a campaign have ended, with a record or without: "1,203 of 2,000". */
export function endedText({ kept, finished, failed, trials }: Campaign): string {
  return `${counted(kept + finished + failed)} of ${counted(trials)}`;
}

/** What carries a run out where that is not the simulator alone, such as "on hosts rack, with its prediction". */
export function whereText({ backend, hosts, twin }: Pick<Run, 'backend' | 'hosts' | 'twin'>): string {
  const where = hosts === null ? (backend === 'sim' ? '' : backend) : `on hosts ${hosts}`;
  return twin ? `${where}, with its prediction` : where;
}

/** What a queued run waits for. */
export function waitText({ position, waits_for }: Pick<Run, 'position' | 'waits_for'>): string {
  if (waits_for !== '') return `waits for ${waits_for}`;
  return position === null ? 'waits' : `waits at place ${position}`;
}

function isFinished({ status }: RunTrial): boolean {
  return status === 'complete' || status === 'incomplete';
}

/** The last trial of a run that has finished; null if none has. */
export function lastFinished(run: RunDetail): string | null {
  return run.trials.findLast(isFinished)?.id ?? null;
}

/** The first trial of a run that was measured and has its prediction; null of a run without predictions. */
export function firstTwin(run: RunDetail): string | null {
  if (!run.twin) return null;
  return run.trials.find((trial) => trial.backend === run.backend && isFinished(trial))?.id ?? null;
}

/** Whether the trial at work is measured, so that its time is that of a clock and it has no queues to show. */
export function isMeasured(run: RunDetail, trial: string | null): boolean {
  const backend = run.trials.find(({ id }) => id === trial)?.backend ?? run.backend;
  return backend !== 'sim' && backend !== '';
}
