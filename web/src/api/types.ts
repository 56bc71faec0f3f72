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
  position: number;
  variant: string;
  iteration: number;
  data_size_bytes: number | null;
  /** `waiting` until it starts. */
  status: Status | 'waiting';
}

/** What was seen at a moment of simulated time: the goodput since the last one, or the deepest queue. */
export interface Sample {
  sim_ps: number;
  goodput_gb_per_s?: number;
  queue_max_bytes?: number;
}

export interface Samples {
  trial: string;
  points: Sample[];
}

export interface Progress {
  trial: string;
  /** Number of the trial at work, from 1, of `count`. */
  number: number;
  count: number;
  /** Share of the run that is done, 0 to 1; `trial_share` that of the trial. */
  share: number;
  trial_share: number;
  sim_ps: number;
  packet_hops: number;
  hops_per_s: number;
  wall_s: number;
  /** Estimate of the time left, once there is one. */
  left_s: number | null;
}

export interface Run {
  id: string;
  plan: string;
  title: string;
  state: RunState;
  position: number | null;
  message: string;
  tags: string[];
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
  trials_total: number;
  trials_finished: number;
  cancel_requested: boolean;
  progress: Progress | null;
}

export interface RunDetail extends Run {
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

/** Something wrong with a plan, or worth a warning. */
export interface Fault {
  message: string;
  hint?: string | null;
  field?: string | null;
  line?: number | null;
  column?: number | null;
  found?: string | null;
  allowed?: string | null;
}

export interface TopologyNode {
  name: string;
  kind: string;
  tier: number;
}

export interface TopologyLink {
  from: string;
  to: string;
  tier: number;
  rate_bps: number;
}

export interface Topology {
  hosts: number;
  nodes: TopologyNode[];
  links: TopologyLink[];
  /** The host of each rank of each job. */
  jobs: { name: string; hosts: number[] }[];
  reduced: boolean;
}

export interface Cost {
  memory_bytes: number;
  seconds: number;
  text?: string;
}

export interface Checked {
  yaml: string;
  document: Record<string, unknown> | null;
  name: string | null;
  extent: string | null;
  errors: Fault[];
  warnings: Fault[];
  beyond_machine: boolean;
  cost: Cost | null;
  trials_total: number;
  topology: Topology | null;
}

export interface ShippedPlan {
  name: string;
  group: string;
  title: string;
  trials: number;
}

export interface PublishedMetric {
  unit: string;
  published: number | null;
  ours: number | null;
  deviation_percent: number | null;
}

export interface PublishedRow {
  data_size_bytes: number;
  /** Our newest trial of it in this workspace. */
  trial: string | null;
  metrics: Record<string, PublishedMetric>;
}

export interface PublishedPlan {
  plan: string;
  title: string;
  variant: string;
  size_kind: string;
  source: string;
  note: string;
  rows: PublishedRow[];
}
