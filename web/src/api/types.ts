/**
 * TypeScript types of the HTTP API's responses: trials, runs, figures, comparisons, diagnoses, hosts, topologies,
 * published results. They refine the types generated from the OpenAPI document; fields that it leaves untyped are
 * typed here.
 */
import type { components } from './schema';

type Schemas = components['schemas'];

/** Named fields of a type, without its index signature. */
type Declared<T> = { [Name in keyof T as string extends Name ? never : Name]: T[Name] };

/** A generated type with more exact types of some fields. */
type Refined<T, More> = Omit<T, keyof More> & More;

export type Status =
  'queued' | 'running' | 'complete' | 'incomplete' | 'interrupted' | 'cancelled' | 'failed' | 'imported';

/** Declaration of a metric. */
export type Metric = Schemas['MetricInfo'];
export type PortMapPage = Schemas['PortMapPage'];

/** Metrics of one job of a trial; every number may be null where nothing was measured. */
export interface JobMetrics {
  job: string;
  collective: string | null;
  algorithm: string | null;
  ranks: number | null;
  data_size_bytes: number | null;
  status: Status;
  reason: string;
  verdict: string | null;
  [metric: string]: unknown;
}

/** A trial in a list. */
export type Trial = Refined<Declared<Schemas['TrialRow']>, { status: Status; jobs: JobMetrics[] }>;

export type TrialPage = Refined<Schemas['TrialPage'], { trials: Trial[] }>;

/** A run in the list of the workspace. */
export type RunListRow = Schemas['RunListRow'];
export type SavedView = Schemas['SavedView'];
export type SavedViews = Schemas['SavedViews'];
export type RunListPage = Schemas['RunListPage'];

/** Result of the import of a file. */
export type Imported = Refined<Schemas['Imported'], { trials: Trial[] }>;

/** Values that trials can be filtered by. */
export interface Choices {
  plan: string[];
  variant: string[];
  backend: string[];
  status: string[];
  tag: string[];
}

export type About = Schemas['About'];

/** A file of hosts, its hosts, and the checks of each. */
export type HostsFile = Schemas['HostsFileState'];
export type HostState = Schemas['HostState'];
export type HostCheck = Schemas['HostCheck'];

export type RunState = Run['state'];

/** A trial of a run; `waiting` until it starts. */
export type RunTrial = Omit<Sibling, 'status'> & {
  status: Status | 'waiting';
  /** By the plan's criteria; null without any. */
  verdict: string | null;
  /** Backend that executes it; missing in runs of earlier versions. */
  backend?: string;
};

/** Sample of a trial over the time since the previous one; only the goodput where ports are not sampled. */
export interface Sample {
  sim_ps: number;
  goodput_gb_per_s: number;
  /** The deepest queue of all ports of switches at the time of the sample. */
  queue_max_bytes?: number;
  marks_per_us?: number;
  paused_mean?: number;
}

export interface Samples {
  trial: string;
  points: Sample[];
}

export interface Progress {
  trial: string;
  /** Number of the current trial, from 1, of `count`. */
  number: number;
  count: number;
  /** Completed fraction of the run, 0 to 1; `trial_share` is that of the trial. */
  share: number;
  trial_share: number;
  sim_ps: number;
  /** Only of the simulator. */
  packet_hops?: number;
  hops_per_s: number | null;
  wall_s: number;
  /** Estimated time left; null until there is an estimate. */
  left_s: number | null;
}

export type Run = Refined<Schemas['Run'], { progress: Progress | null }>;

export type RunDetail = Refined<Schemas['RunDetail'], { progress: Progress | null; trials: RunTrial[] }>;

/** Results of a run so far. */
export type ResultsOfRun = Refined<Schemas['ResultsOfRun'], { findings: Finding[] }>;
export type RunResult = Schemas['RunResult'];
export type Labelled = Schemas['LabelledRunResult'];
export type RunMap = Schemas['RunMap'];
export type RunMapCell = Schemas['MapCell'];

/** Result of a search in one case. */
export type SearchedCase = Schemas['SearchedCase'];

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

export type FigureName = Schemas['FigureInfo'];
export type FigureSection = Schemas['FigureSection'];

/** Range of simulated time. */
export interface TimeRange {
  from_ps: number;
  to_ps: number;
}

export interface Figure {
  data: Record<string, unknown>[];
  layout: Record<string, unknown>;
  caption?: string;
  /** Picoseconds of one unit of the horizontal axis, where that is time. */
  unit_ps?: number | null;
  /** End of the run. */
  end_ps?: number | null;
  /** Time range that it was drawn for; the whole run if null. */
  range?: TimeRange | null;
}

/** A metric against data size; `metrics` are the ones available. */
export interface MetricFigure extends Figure {
  title: string;
  metric: string;
  metrics: string[];
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
  axes?: Record<string, unknown>;
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
  /** Differences that the parameters do not include. */
  note?: string;
  jobs: ComparedJob[];
}

/** One of the two trials of a twin, with the metrics that benchmarks report. */
export interface TwinSide {
  id: string;
  backend: string;
  status: string;
  completion_time_ms: number | null;
  algbw_gb_per_s: number | null;
  busbw_gb_per_s: number | null;
}

/** A measured job and its prediction by the simulator. */
export interface Twin {
  job: string;
  variant: string;
  size: string;
  iteration: number;
  measured: TwinSide;
  predicted: TwinSide | null;
  deviation_percent: number | null;
  causes: { kind: string; where: string; text: string }[];
  /** Reason of a missing prediction. */
  missing: string | null;
}

export interface Twins {
  twins: Twin[];
  trends: {
    variant: string;
    job: string;
    fixed_ms: number;
    rate_percent: number;
    residual_percent: number;
  }[];
}

/** Remedy of a cause: `set` are fields of the plan, empty where no setting helps. */
export interface Remedy {
  what: string;
  set: string[];
  /** The same as options of the command line. */
  options: string;
}

export interface Finding {
  cause: string;
  /** Fraction of the lost time that the cause explains, 0 to 1; the fractions of a job do not overlap. */
  explained: number | null;
  sentence: string;
  where: string[];
  /** Symptoms of the cause, and the same cause at other locations. */
  under: { cause: string; sentence: string }[];
  remedies: Remedy[];
  evidence: Record<string, unknown> | { name: string; value: unknown }[];
}

export interface CriterionResult {
  metric: string;
  limit?: string;
  value: number | null;
  passed: boolean;
  [more: string]: unknown;
}

export interface JobDetail extends JobMetrics {
  /** Null of a measured trial. */
  diagnosis: Finding[] | null;
  criteria: CriterionResult[];
  /** Result of the job run alone, if it was. */
  alone: { trial: string; kept_percent: number | null } | null;
  /** Failures of the plan later than the end of the trial; equal for all of its jobs. */
  unreached_failures: { failure: string; at_ps: number }[];
  /** Notes about the result, such as the accuracy of a model; equal for all jobs. */
  notes: string[];
  measured?: Measured | null;
  published: Record<string, unknown> | null;
}

/** Output of a benchmark about one of its results. */
export interface Measured {
  format: string;
  benchmark: string;
  version: string;
  command: string;
  file: string;
  line: number;
  placement: string;
  facts: Facts;
  printed: { wrong: number | null; iterations: number | null; values: Facts };
}

/** A trial of the same run. */
export interface Sibling {
  id: string;
  variant: string;
  axes?: Record<string, unknown>;
  iteration: number;
  data_size_bytes: number | null;
  position: number;
  status: Status;
}

/** A port to a higher tier; values that were not measured are null. */
export interface Uplink {
  port: number;
  peer: string;
  qps: number;
  tx_bytes: number;
  usage_percent: number | null;
  tx_gbps: number | null;
  rx_gbps: number | null;
  ecn_marked: number | null;
  peer_ecn_marked: number | null;
}

export interface Uplinks {
  switch: string;
  qps: string | null;
  qps_max_to_mean: number | null;
  bytes_max_to_mean: number | null;
  usage_percent: number | null;
  frames_delta: number | null;
  ecn_marked_below: number | null;
  uplinks: Uplink[];
}

/** Pause frames of one priority at a port: XOFF begins or renews a pause, XON ends it. */
export interface PriorityPauses {
  node: string;
  port: number;
  priority: number;
  pfc_tx: number;
  pfc_rx: number;
  pfc_xon_tx: number | null;
  pfc_xon_rx: number | null;
  paused_ps: number;
}

export interface FabricInsight {
  uplinks: Uplinks[];
  frames_lost: Record<string, number>;
  paused_ports: Record<string, unknown>[];
  pfc_by_priority: PriorityPauses[];
}

export type Facts = Record<string, string | number | boolean | null>;

/** Time and memory that a trial's run took, and the facts of its hosts where it ran on hosts. */
export interface Engine {
  hosts?: EngineHost[];
  /** Times of the parts of a run are in a mapping whose name ends in their unit. */
  [name: string]: Facts[string] | EngineHost[] | Facts | undefined;
}

/** A host of a measured trial. */
export interface EngineHost {
  host: string;
  plays: number[];
  address: string;
  driver: string;
  settings: Facts;
  version: string;
  facts: Record<string, string>;
  clock_offset_ns: number;
  clock_error_ns: number;
  /** Change of the clock's offset by the end; missing in earlier records. */
  clock_drift_ns?: number;
  /** Source of the completion times of chunks: `adapter`, `software` or both; missing in earlier records. */
  completion_times?: string;
  /** Counters of its endpoint by name. */
  endpoint: Record<string, number>;
  counters: HostCounter[];
}

/** A counter of a device that changed during the trial; `counter` is null for names of a vendor only. */
export interface HostCounter {
  device: string;
  /** Source, such as `ethtool`; missing in records older than table `counters`. */
  source?: string;
  counter: string | null;
  vendor_name: string;
  meaning: string | null;
  unit: string | null;
  before: number;
  after: number;
}

/** A trial with its summary, plan, record and run; its jobs are in `shown`. */
export interface TrialDetail extends Omit<Trial, 'jobs'> {
  /** Output of `show --format json`; null while the trial has not finished. */
  shown: { trials: JobDetail[]; engine: Facts; fabric: FabricInsight | null } | null;
  /** Positions of its jobs, failed ones first, then by the share of the ideal. */
  order: number[];
  plan_source: string | null;
  overrides: string[];
  run_spec: { jobs: { work?: { nccl?: unknown } }[] };
  /** Tables of the record: observation point of each, and the columns that were not measured. */
  observed: Record<string, { at: string; unmeasured: string[] }>;
  engine: Engine | null;
  machine: Facts | null;
  suite_trials: Sibling[];
}

/** Error or warning of a plan. */
export type Fault = Schemas['Fault'];

/** Map of a fabric: boxes of switches and hosts, tier by tier, and the links between them. */
export type FabricMap = Schemas['FabricMap'];
export type MapBox = Schemas['MapBox'];

export interface Cost {
  memory_bytes: number;
  seconds: number;
  text?: string;
}

export type Checked = Refined<
  Schemas['Checked'],
  { document: Record<string, unknown> | null; cost: Cost | null }
>;

export type ShippedPlan = Schemas['ShippedPlan'];
export type Gallery = Schemas['Gallery'];
export type GalleryPlan = Schemas['GalleryPlan'];
export type PlanChoices = Schemas['PlanChoices'];
export type MadePlan = Schemas['MadePlan'];

export type Campaign = Schemas['CampaignProgress'];
export type CampaignDetail = Refined<
  Schemas['CampaignDetail'],
  { missing: Record<string, string | number>[] }
>;

export interface PublishedMetric {
  unit: string;
  published: number | null;
  ours: number | null;
  deviation_percent: number | null;
}

export type PublishedRow = Refined<Schemas['PublishedResult'], { metrics: Record<string, PublishedMetric> }>;

export type PublishedPlan = Refined<Schemas['PublishedPlan'], { rows: PublishedRow[] }>;
