/** The views of a trial, and which figures and tables of its record each shows. */

import type { JobDetail, TrialDetail } from '../../api/types';
import { simulatedTime } from '../../format/numbers';

export interface View {
  key: string;
  title: string;
  /** Names of the figures. */
  figures: readonly string[];
  tables: readonly string[];
}

export const VIEWS: readonly View[] = [
  { key: 'summary', title: 'Summary', figures: ['bandwidth', 'ideal-share'], tables: [] },
  { key: 'diagnosis', title: 'Diagnosis', figures: [], tables: [] },
  { key: 'chunks', title: 'Data chunks', figures: [], tables: ['chunks'] },
  {
    key: 'distribution',
    title: 'Distribution',
    figures: ['cdf', 'cdf-run', 'latency', 'order'],
    tables: ['reordering'],
  },
  { key: 'timeline', title: 'Timeline', figures: ['timeline', 'progress'], tables: [] },
  {
    key: 'over-time',
    title: 'Over time',
    figures: ['goodput', 'queues', 'link-use', 'voqs', 'thresholds', 'pauses', 'rates'],
    tables: ['series', 'events'],
  },
  { key: 'flows', title: 'Flows', figures: [], tables: ['paths', 'connections'] },
  { key: 'ports', title: 'Ports', figures: [], tables: ['ports', 'priorities'] },
  { key: 'links', title: 'Links', figures: ['topology', 'links'], tables: ['links'] },
  { key: 'plan', title: 'Plan and run', figures: [], tables: [] },
];

/** The view that shows a figure; what no view names stands with what is drawn over time. */
export function viewOfFigure(name: string): string {
  const view = VIEWS.find(({ figures }) => figures.includes(name));
  return view?.key ?? 'over-time';
}

/** Whether a trial was imported: there is then nothing in it but what the benchmark printed. */
export function isMeasured(trial: { backend: string }): boolean {
  return trial.backend === 'imported';
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
