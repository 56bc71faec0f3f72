/** The views of a trial, and which tables of its record and sections of its report each shows. */

import type { EngineHost, FigureSection, JobDetail, TrialDetail } from '../../api/types';
import { simulatedTime } from '../../format/numbers';

export interface View {
  key: string;
  title: string;
  tables: readonly string[];
  /** The tables that a record has to hold for the view to show anything. */
  needs: readonly string[];
}

export const VIEWS: readonly View[] = [
  { key: 'summary', title: 'Summary', tables: [], needs: [] },
  { key: 'diagnosis', title: 'Diagnosis', tables: [], needs: ['ports', 'links', 'events'] },
  { key: 'chunks', title: 'Data chunks', tables: ['chunks'], needs: ['chunks'] },
  {
    key: 'distribution',
    title: 'Distribution',
    tables: ['reordering'],
    needs: ['chunks'],
  },
  { key: 'timeline', title: 'Timeline', tables: [], needs: ['chunks'] },
  {
    key: 'over-time',
    title: 'Over time',
    tables: ['series', 'events'],
    needs: ['series'],
  },
  { key: 'flows', title: 'Flows', tables: ['paths', 'connections'], needs: ['paths'] },
  { key: 'ports', title: 'Ports', tables: ['ports', 'priorities'], needs: ['ports'] },
  { key: 'links', title: 'Links', tables: ['links'], needs: ['links'] },
  { key: 'port-map', title: 'Port map', tables: [], needs: [] },
  { key: 'hosts', title: 'Hosts', tables: ['counters'], needs: [] },
  { key: 'plan', title: 'Plan and run', tables: [], needs: [] },
];

/** The view that shows the figures of a section of the report. */
export const VIEW_OF_SECTION: Record<FigureSection, string> = {
  variants: 'summary',
  sweep: 'summary',
  tenants: 'summary',
  bandwidth: 'summary',
  twin: 'summary',
  fct: 'distribution',
  latency: 'distribution',
  order: 'distribution',
  timeline: 'timeline',
  series: 'over-time',
  uplinks: 'links',
  links: 'links',
};

/** Whether a view shows figures. */
export function draws(view: string): boolean {
  return Object.values(VIEW_OF_SECTION).includes(view);
}

/** Whether a benchmark printed the trial: it then has that output in place of a plan. */
export function isPrinted(trial: TrialDetail): boolean {
  return jobsOf(trial).some((job) => Boolean(job.measured));
}

/** Whether a record holds some tables, as it says of itself. */
export function holds(trial: Pick<TrialDetail, 'observed'>, tables: readonly string[]): boolean {
  return tables.every((table) => table in trial.observed);
}

/** The hosts that measured a trial; none of any other trial. */
export function hostsOf(trial: Pick<TrialDetail, 'engine'>): EngineHost[] {
  return trial.engine?.hosts ?? [];
}

/** The views of a trial: that of its hosts only where it ran on some, none of ports where it was imported. */
export function viewsOf(trial: Pick<TrialDetail, 'engine'> & Partial<Pick<TrialDetail, 'backend'>>): View[] {
  return VIEWS.filter(
    ({ key }) =>
      (key !== 'hosts' || hostsOf(trial).length > 0) && (key !== 'port-map' || trial.backend !== 'imported'),
  );
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
