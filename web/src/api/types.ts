/** The shapes that the server answers with; field names and units are those of the command line's JSON. */

export type Status =
  'queued' | 'running' | 'complete' | 'incomplete' | 'interrupted' | 'cancelled' | 'failed' | 'imported';

/** Metrics of one job of a trial; every number may be null where nothing was measured. */
export interface JobMetrics {
  job: string;
  collective: string | null;
  algorithm: string | null;
  ranks: number | null;
  data_size_bytes: number | null;
  status: Status;
  reason: string;
  completion_time_ms: number | null;
  busbw_gb_per_s: number | null;
  algbw_gb_per_s: number | null;
  ideal_percent: number | null;
  fct_ms: Record<string, number | null>;
  verdict: string | null;
  [metric: string]: unknown;
}

/** A trial in a list. */
export interface Trial {
  id: string;
  attempt: number;
  plan: string;
  title: string;
  variant: string;
  iteration: number;
  suite: string;
  tags: string[];
  data_size_bytes: number | null;
  status: Status;
  message: string;
  started_at: string | null;
  ended_at: string | null;
  backend: string;
  /** `pass` or `fail` by the plan's criteria. */
  verdict: string | null;
  jobs: JobMetrics[];
}

export interface TrialPage {
  total: number;
  trials: Trial[];
}

/** What trials can be filtered by. */
export interface Choices {
  plan: string[];
  variant: string[];
  status: string[];
  tag: string[];
}

export interface About {
  version: string;
  workspace: string;
  cores: number;
}

export type RunState = 'queued' | 'running' | 'complete' | 'cancelled' | 'failed' | 'interrupted';

export interface RunTrial {
  id: string;
  variant: string;
  iteration: number;
  data_size_bytes: number | null;
  status: Status;
  message?: string;
}

export interface Sample {
  at_ps: number;
  goodput_gbps?: number | null;
  queue_bytes_max?: number | null;
}

export interface Progress {
  share: number | null;
  trial?: string | null;
  trials_done?: number;
  trials?: number;
  simulated_ps?: number | null;
  packet_hops?: number | null;
  hops_per_s?: number | null;
  eta_s?: number | null;
  samples?: Sample[];
}

export interface Run {
  id: string;
  plan: string;
  state: RunState;
  position: number | null;
  message?: string;
  tags: string[];
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
  progress: Progress | null;
  trials: RunTrial[];
}

export interface Column {
  name: string;
  type: string;
}

export type Cell = string | number | boolean | null;
export type TableRow = Record<string, Cell>;

export interface TablePage {
  total: number;
  columns: Column[];
  rows: TableRow[];
}

export interface FigureName {
  name: string;
  title: string;
  /** Whether it shows the whole run that the trial belongs to. */
  of_run: boolean;
  /** Whether a stretch of time brings out more of it. */
  zooms: boolean;
}

export interface Figure {
  data: Record<string, unknown>[];
  layout: Record<string, unknown>;
  caption?: string;
  /** Picoseconds of one unit of the horizontal axis, where that is time. */
  unit_ps?: number | null;
}

export interface ComparedMetric {
  unit: string;
  direction: 'higher' | 'lower' | null;
  first: number | null;
  second: number | null;
  ratio: number | null;
  verdict: 'better' | 'worse' | 'same' | null;
}

export interface ComparedTrial {
  id: string;
  tag: string;
  plan: string;
  variant: string;
  iteration: number;
  job: string;
  data_size_bytes: number | null;
}

export interface ComparedJob {
  first: ComparedTrial;
  second: ComparedTrial;
  metrics: Record<string, ComparedMetric>;
}

export interface Comparison {
  compared: string[];
  parameters: { field: string; values: Record<string, string | null> }[];
  jobs: ComparedJob[];
}

export interface Finding {
  cause: string;
  title?: string;
  /** Share of the lost time that the cause explains, 0 to 1. */
  explained: number | null;
  sentence: string;
  evidence: Record<string, unknown> | { name: string; value: unknown }[];
}

export interface CriterionResult {
  metric: string;
  limit?: string;
  value: number | null;
  met: boolean | null;
  [more: string]: unknown;
}

export interface JobDetail extends JobMetrics {
  diagnosis: Finding[];
  criteria: CriterionResult[];
  published: Record<string, unknown> | null;
}

/** A trial of the same run. */
export interface Sibling {
  id: string;
  variant: string;
  iteration: number;
  data_size_bytes: number | null;
  position: number;
  status: Status;
}

export interface Uplinks {
  switch: string;
  qps: string | null;
  qps_max_to_mean: number | null;
  bytes_max_to_mean: number | null;
}

export interface FabricInsight {
  uplinks: Uplinks[];
  frames_lost: Record<string, number>;
  paused_ports: Record<string, unknown>[];
}

export type Facts = Record<string, string | number | boolean | null>;

export interface TrialDetail extends Omit<Trial, 'jobs'> {
  /** What `show --format json` prints; null of a trial that has not finished. */
  shown: { trials: JobDetail[]; engine: Facts; fabric: FabricInsight } | null;
  plan_source: string | null;
  overrides: string[];
  engine: Facts | null;
  machine: Facts | null;
  suite_trials: Sibling[];
}
