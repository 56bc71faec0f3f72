/** The views of a trial, and which figures and tables of its record each shows. */

import type { JobDetail, TrialDetail } from '../../api/types';
import { simulatedTime } from '../../format/numbers';

export interface View {
  key: string;
  title: string;
  /** Names of the figures. */
  figures: readonly string[];
  tables: readonly string[];
  /** The tables that a record has to hold for the view to show anything. */
  needs: readonly string[];
}

export const VIEWS: readonly View[] = [
  { key: 'summary', title: 'Summary', figures: ['bandwidth', 'ideal-share'], tables: [], needs: [] },
  { key: 'diagnosis', title: 'Diagnosis', figures: [], tables: [], needs: ['ports', 'links', 'events'] },
  { key: 'chunks', title: 'Data chunks', figures: [], tables: ['chunks'], needs: ['chunks'] },
  {
    key: 'distribution',
    title: 'Distribution',
    figures: ['cdf', 'cdf-run', 'latency', 'order'],
    tables: ['reordering'],
    needs: ['chunks'],
  },
  { key: 'timeline', title: 'Timeline', figures: ['timeline', 'progress'], tables: [], needs: ['chunks'] },
  {
    key: 'over-time',
    title: 'Over time',
    figures: ['goodput', 'queues', 'link-use', 'voqs', 'thresholds', 'pauses', 'rates'],
    tables: ['series', 'events'],
    needs: ['series'],
  },
  { key: 'flows', title: 'Flows', figures: [], tables: ['paths', 'connections'], needs: ['paths'] },
  { key: 'ports', title: 'Ports', figures: [], tables: ['ports', 'priorities'], needs: ['ports'] },
  { key: 'links', title: 'Links', figures: ['topology', 'links'], tables: ['links'], needs: ['links'] },
  { key: 'plan', title: 'Plan and run', figures: [], tables: [], needs: [] },
];

/** The view that shows a figure; what no view names stands with what is drawn over time. */
export function viewOfFigure(name: string): string {
  const view = VIEWS.find(({ figures }) => figures.includes(name));
  return view?.key ?? 'over-time';
}

/** Whether a benchmark printed the trial: it then has that output in place of a plan. */
export function isPrinted(trial: TrialDetail): boolean {
  return jobsOf(trial).some((job) => Boolean(job.measured));
}

/** Whether a record holds some tables, as it says of itself. */
export function holds(trial: Pick<TrialDetail, 'observed'>, tables: readonly string[]): boolean {
  return tables.every((table) => table in trial.observed);
}

/** The jobs of a trial with their metrics; none before it has finished. */
export function jobsOf(trial: TrialDetail): JobDetail[] {
  return trial.shown?.trials ?? [];
}

/** The failures of the plan that a trial ended before, each as a sentence: its record says nothing of them. */
export function unreachedTexts(job: Pick<JobDetail, 'unreached_failures'>): string[] {
  return job.unreached_failures.map(
    ({ failure, at_ps }) => `${failure} at ${simulatedTime(at_ps)} never happened: the run had ended before`,
  );
}
