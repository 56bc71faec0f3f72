/**
 * Types of the HTTP API's analysis of a campaign (trials of many plans and parameter values): effect of each
 * parameter (factor) on a metric, variance that each explains, best and worst settings, Pareto front.
 */
import type { Figure } from './types';

/** Effect of one value of a factor, relative to the mean of all settings. */
export interface CampaignEffect {
  factor: string;
  value: string;
  mean: number | null;
  percent: number | null;
  /** Half of the interval of 95 % confidence over the seeds. */
  margin_percent: number | null;
}

/** Setting: value of each factor by its name, and the result of its trials. */
export type CampaignSetting = Record<string, string | number | null> & {
  mean: number;
  margin: number | null;
  seeds: number;
  /** Number of settings that are not significantly different. */
  as_good?: number | null;
};

/** Effects of the factors of a campaign on a metric. */
export interface CampaignAnalysis {
  metric: string;
  title: string;
  unit: string;
  relative: boolean;
  better: 'higher' | 'lower';
  factors: string[];
  trials: number;
  unmeasured: number;
  notes: string[];
  mean: number | null;
  effects: CampaignEffect[];
  variance: { source: string; share: number }[];
  best_of_each: CampaignSetting[];
  best: CampaignSetting[];
  worst: CampaignSetting[];
  settings_total: number;
  figures: (Figure & { name: string })[];
}

/** Two metrics of the settings of a campaign, and the settings that no other setting beats in both. */
export interface CampaignPareto extends Figure {
  metrics: [string, string];
  front: Record<string, string | number>[];
  front_total: number;
}
