/** Types of the expected curves of clusters, and of measured results next to them. */
import type { components } from './schema';
import type { Figure } from './types';

export type ClusterChoices = components['schemas']['ClusterChoices'];

/** Servers of a cluster and their fabric. */
export interface ClusterParts {
  cluster: string;
  servers: number;
  topology: string;
}

/** Parameters of an expected curve. */
export interface Cluster extends ClusterParts {
  collective: string;
  seeds: number;
}

/** Expected results of a collective at a data size; gains are fractions. */
export interface ExpectedRow {
  data_size_bytes: number;
  algorithm: string | null;
  protocol: string;
  channels: number;
  /** Whether trials of this size have run; else it is on a line through others. */
  computed: boolean;
  time_us: number;
  busbw_gb_per_s_least: number;
  busbw_gb_per_s_median: number;
  busbw_gb_per_s_most: number;
  ideal_percent: number | null;
  bound: string | null;
  bound_certain: boolean;
  gain_adapter?: number;
  gain_latency?: number;
  gain_scale_up?: number;
  gain_step_cost?: number;
  gain_uplinks?: number;
  accept_busbw_gb_per_s: number;
}

/** Expected curve of a collective on a cluster. */
export interface ExpectedCurve {
  title: string;
  source: string;
  legend: string[];
  seeds: number;
  /** Fraction by which limits are below the expectation. */
  allowance: number;
  expected: ExpectedRow[];
  nccl_tests: string[];
  figure: Figure;
}

/** Fabric of pasted results and the values that they lack. */
export type Given = Omit<components['schemas']['ToExplain'], 'files'>;

/** Measured and expected results with causes. */
export type Explained = Omit<components['schemas']['Explained'], 'figure'> & { figure: Figure | null };
export type LikelyCause = components['schemas']['LikelyCause'];
export type ResultTable = components['schemas']['ResultTable'];
