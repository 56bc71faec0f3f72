/**
 * Views (tabs) of a trial's page: title, tables of the trial's results and figures of each, and which views a trial
 * has; accessors of its jobs and hosts; texts of failures in the plan later than the end of the trial.
 */
import type { EngineHost, FigureName, FigureSection, JobDetail, TrialDetail } from '../../api/types';
import { simulatedTime } from '../../format/numbers';

export interface View {
  key: string;
  title: string;
  tables: readonly string[];
  /** Tables of the record that the view requires. */
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
  { key: 'channels', title: 'Channels', tables: ['channels'], needs: ['channels'] },
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

/** View that shows the figures of each section of the report; null for those of the page of the run. */
const VIEW_OF_SECTION: Record<FigureSection, string | null> = {
  results: null,
  variants: null,
  sweep: null,
  bandwidth: null,
  twin: null,
  tenants: 'distribution',
  fct: 'distribution',
  latency: 'distribution',
  order: 'distribution',
  timeline: 'timeline',
  channels: 'channels',
  series: 'over-time',
  uplinks: 'links',
  links: 'links',
};

/** Figures of which the first one that the trial has is on the first screen. */
const MAIN_FIGURES = ['timeline', 'topology', 'links', 'bandwidth'];

export function mainFigure(figures: readonly FigureName[]): FigureName | undefined {
  return MAIN_FIGURES.map((name) => figures.find((each) => each.name === name)).find(
    (each) => each !== undefined,
  );
}

/** Figures of a view, in the order of the report. */
export function figuresOf(view: string, figures: readonly FigureName[]): FigureName[] {
  return figures.filter((figure) => VIEW_OF_SECTION[figure.section] === view);
}

export function hasFigures(view: string): boolean {
  return Object.values(VIEW_OF_SECTION).includes(view);
}

/** Whether the trial was imported from the output of a benchmark, which it has in place of a plan. */
export function isPrinted(trial: TrialDetail): boolean {
  return jobsOf(trial).some((job) => Boolean(job.measured));
}

/** Whether the record of a trial has all of some tables. */
export function hasTables(trial: Pick<TrialDetail, 'observed'>, tables: readonly string[]): boolean {
  return tables.every((table) => table in trial.observed);
}

/** Hosts that measured a trial; empty for other trials. */
export function hostsOf(trial: Pick<TrialDetail, 'engine'>): EngineHost[] {
  return trial.engine.hosts ?? [];
}

/** Whether NCCL runs a job of a trial. */
function hasNccl(trial: Partial<Pick<TrialDetail, 'run_spec'>>): boolean {
  return trial.run_spec?.jobs.some(({ work }) => Boolean((work as { nccl?: unknown } | null)?.nccl)) ?? false;
}

/** Views of an imported trial: a benchmark observes nothing else. */
const OF_IMPORTED: readonly string[] = ['summary', 'plan'];

/** Views of a trial: hosts only if it ran on hosts, channels only if NCCL runs a job; of an imported one two. */
export function viewsOf(
  trial: Pick<TrialDetail, 'engine'> & Partial<Pick<TrialDetail, 'backend' | 'run_spec'>>,
): View[] {
  return VIEWS.filter(
    ({ key }) =>
      (key !== 'hosts' || hostsOf(trial).length > 0) &&
      (trial.backend !== 'imported' || OF_IMPORTED.includes(key)) &&
      (key !== 'channels' || hasNccl(trial)),
  );
}

/** Jobs of a trial with their metrics, failed ones first; empty before it has finished. */
export function jobsOf(trial: TrialDetail): JobDetail[] {
  const jobs = trial.shown?.trials ?? [];
  return trial.order.map((place) => jobs[place]).filter((job) => job !== undefined);
}

/** Sentences about the plan's failures that would have begun after the end of the trial. */
export function unreachedTexts(job: Pick<JobDetail, 'unreached_failures'>): string[] {
  return job.unreached_failures.map(
    ({ failure, at_ps }) => `${failure} at ${simulatedTime(at_ps)} never happened: the run had ended before`,
  );
}
