/** Types of the expected curves of clusters. */
import type { components } from './schema';
import type { Figure } from './types';

export type ClusterChoices = components['schemas']['ClusterChoices'];

/** Parameters of an expected curve. */
export interface Cluster {
  cluster: string;
  servers: number;
  topology: string;
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
