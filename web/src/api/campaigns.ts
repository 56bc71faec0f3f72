/** Answers about the analysis of a campaign: effects of factors, settings and Pareto fronts. */
import type { Figure } from './types';

/** What one value of a factor does, against the mean of all settings. */
export interface CampaignEffect {
  factor: string;
  value: string;
  mean: number | null;
  percent: number | null;
  /** Half of the interval of 95 % confidence over the seeds. */
  margin_percent: number | null;
}

/** A setting: its value of each factor, by the name of the factor, and what its trials came to. */
export type CampaignSetting = Record<string, string | number | null> & {
  mean: number;
  margin: number | null;
  seeds: number;
  /** How many others the seeds do not tell from it. */
  as_good?: number | null;
};

/** What the factors of a campaign do to a metric. */
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

/** Two metrics of the settings of a campaign, and the settings that no other is better than in both. */
export interface CampaignPareto extends Figure {
  metrics: [string, string];
  front: Record<string, string | number>[];
  front_total: number;
}
