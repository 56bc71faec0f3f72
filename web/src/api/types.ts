/**
 * The shapes that the server answers with; field names and units are those of the command line's JSON. What its OpenAPI
 * document describes is taken from there; what is the command line's JSON stands here.
 */
import type { components } from './schema';

type Schemas = components['schemas'];

/** The fields of a shape that are named, where others are allowed. */
type Declared<T> = { [Name in keyof T as string extends Name ? never : Name]: T[Name] };

/** A generated shape, of which some fields are known better here. */
type Known<T, More> = Omit<T, keyof More> & More;

export type Status =
  'queued' | 'running' | 'complete' | 'incomplete' | 'interrupted' | 'cancelled' | 'failed' | 'imported';

/** A metric as it is declared. */
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
export type Trial = Known<Declared<Schemas['TrialRow']>, { status: Status; jobs: JobMetrics[] }>;

export type TrialPage = Known<Schemas['TrialPage'], { trials: Trial[] }>;

/** A run in the list of the workspace. */
export type RunListRow = Schemas['RunListRow'];
export type SavedView = Schemas['SavedView'];
export type SavedViews = Schemas['SavedViews'];
export type RunListPage = Schemas['RunListPage'];

/** What became of a file of measured results. */
export type Imported = Known<Schemas['Imported'], { trials: Trial[] }>;

/** What trials can be filtered by. */
export interface Choices {
  plan: string[];
  variant: string[];
  backend: string[];
  status: string[];
  tag: string[];
}

export type About = Schemas['About'];

/** A file of hosts, and the hosts of it with what was looked at on each. */
export type HostsFile = Schemas['HostsFileState'];
export type HostState = Schemas['HostState'];
export type HostCheck = Schemas['HostCheck'];

export type RunState = Run['state'];

/** A trial of a run; `waiting` until it starts. */
export type RunTrial = Omit<Sibling, 'status'> & {
  status: Status | 'waiting';
  /** What carries it out; runs of earlier versions do not tell. */
  backend?: string;
};

/** What was seen since the sample before: all but the goodput only where ports are sampled. */
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
  /** Number of the trial at work, from 1, of `count`. */
  number: number;
  count: number;
  /** Share of the run that is done, 0 to 1; `trial_share` that of the trial. */
  share: number;
  trial_share: number;
  sim_ps: number;
  /** Of the simulator alone. */
  packet_hops?: number;
  hops_per_s: number | null;
  wall_s: number;
  /** Estimate of the time left, once there is one. */
  left_s: number | null;
}

export type Run = Known<Schemas['Run'], { progress: Progress | null }>;

export type RunDetail = Known<Schemas['RunDetail'], { progress: Progress | null; trials: RunTrial[] }>;

/** What a search found in one case. */
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

/** A stretch of simulated time. */
export interface Stretch {
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
  /** The stretch that it was drawn for; all of the time if there is none. */
  stretch?: Stretch | null;
}

/** A metric against data size; `metrics` are those that can be drawn of the same. */
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
  /** What the parameters leave out. */
  note?: string;
  jobs: ComparedJob[];
}

/** One of the two trials of a twin, with what benchmarks tell. */
export interface TwinSide {
  id: string;
  backend: string;
  status: string;
  completion_time_ms: number | null;
  algbw_gb_per_s: number | null;
  busbw_gb_per_s: number | null;
}

/** A measured job beside what the simulator predicts of it. */
export interface Twin {
  job: string;
  variant: string;
  size: string;
  iteration: number;
  measured: TwinSide;
  predicted: TwinSide | null;
  deviation_percent: number | null;
  causes: { kind: string; where: string; text: string }[];
  /** Why there is no prediction. */
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

/** What would take a cause away: `set` are fields of the plan, none where no setting does it. */
export interface Remedy {
  what: string;
  set: string[];
  /** The same as options of the command line. */
  options: string;
}

export interface Finding {
  cause: string;
  /** Share of the lost time that the cause explains, 0 to 1; those of a job do not overlap. */
  explained: number | null;
  sentence: string;
  where: string[];
  /** What follows from it, and the same cause at other places. */
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
  /** Failures of the plan that the trial ended before; the same for all of its jobs. */
  unreached_failures: { failure: string; at_ps: number }[];
  /** What has to be said of the result, such as how far a model may be off; the same for all jobs. */
  notes: string[];
  measured?: Measured | null;
  published: Record<string, unknown> | null;
}

/** What a benchmark says about a result of its. */
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

/** A port towards a higher tier; what nobody measured is null. */
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

/** What the run of a trial cost, and of a trial on hosts what is to be known of each. */
export interface Engine {
  hosts?: EngineHost[];
  /** Times by what took them are in a mapping, whose name ends in their unit. */
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
  /** How much further its clock was ahead at the end; earlier records do not tell. */
  clock_drift_ns?: number;
  /** Who says when its chunks end: `adapter`, `software` or both; earlier records do not tell. */
  completion_times?: string;
  /** What its endpoint counted, by name. */
  endpoint: Record<string, number>;
  counters: HostCounter[];
}

/** A counter of a device that changed during the trial; its neutral name is null where it is not known. */
export interface HostCounter {
  device: string;
  /** Where it was read, such as `ethtool`; records of before table `counters` do not tell. */
  source?: string;
  counter: string | null;
  vendor_name: string;
  meaning: string | null;
  unit: string | null;
  before: number;
  after: number;
}

/** What a list has of a trial, without its jobs, and everything else about it. */
export interface TrialDetail extends Omit<Trial, 'jobs'> {
  /** What `show --format json` prints; null of a trial that has not finished. */
  shown: { trials: JobDetail[]; engine: Facts; fabric: FabricInsight | null } | null;
  plan_source: string | null;
  overrides: string[];
  /** What the record holds: of each table where its rows were seen, and the columns that were not measured. */
  observed: Record<string, { at: string; unmeasured: string[] }>;
  engine: Engine | null;
  machine: Facts | null;
  suite_trials: Sibling[];
}

/** Something wrong with a plan, or worth a warning. */
export type Fault = Schemas['Fault'];

export interface TopologyNode {
  name: string;
  kind: string;
  tier: number;
  /** Its place on a map: from 0 at the left to 1, and the level of its tier, from the hosts at 0. */
  x: number;
  y: number;
}

export interface TopologyLink {
  from: string;
  to: string;
  tier: number;
  rate_bps: number;
}

export interface TopologySwitch {
  name: string;
  tier: number;
  pod: number | null;
  /** First and last number of each run of hosts below it. */
  hosts: [number, number][];
}

export interface Topology {
  hosts: number;
  /** Of a large fabric, instead of nodes and links. */
  switches: TopologySwitch[];
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

export type Checked = Known<
  Schemas['Checked'],
  { document: Record<string, unknown> | null; cost: Cost | null; topology: Topology | null }
>;

export type ShippedPlan = Schemas['ShippedPlan'];

export type Campaign = Schemas['CampaignProgress'];
export type CampaignDetail = Known<Schemas['CampaignDetail'], { missing: Record<string, string | number>[] }>;

export interface PublishedMetric {
  unit: string;
  published: number | null;
  ours: number | null;
  deviation_percent: number | null;
}

export type PublishedRow = Known<Schemas['PublishedResult'], { metrics: Record<string, PublishedMetric> }>;

export type PublishedPlan = Known<Schemas['PublishedPlan'], { rows: PublishedRow[] }>;
