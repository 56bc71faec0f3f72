/**
 * Texts and table columns for a campaign: why it ended early, its varied parameters (factors), settings with means
 * and confidence intervals, percentages, highlights; asOf decides when its analysis is requested again.
 */
import type { CampaignAnalysis, CampaignSetting } from '../../api/types';
import type { Campaign, CampaignDetail } from '../../api/types';
import type { TableColumn } from '../../components/table/DataTable';
import { counted, MISSING, significant } from '../../format/numbers';

/** The analysis of a running campaign is refreshed after each of this number of parts of its trials. */
const PARTS = 40;

/** Number of recorded trials at the last refresh of the analysis; changes when it is due again. */
export function asOf({ progress, recorded }: Pick<CampaignDetail, 'progress' | 'recorded'>): number {
  if (progress.state !== 'running') return recorded;
  const step = Math.max(1, Math.ceil(progress.trials / PARTS));
  return recorded < step ? recorded : recorded - (recorded % step);
}

/** Reason why a campaign ended without all of its records, and remedy; empty if it has them. */
export function endingText({ state, failed, trials }: Pick<Campaign, 'state' | 'failed' | 'trials'>): string {
  const remedy = 'The same command runs the rest; finished trials stay.';
  if (state === 'failed') return `It ended with an error, which its terminal shows. ${remedy}`;
  if (state === 'interrupted') return `It was stopped, or its process has ended. ${remedy}`;
  if (failed === 0) return '';
  return `${counted(failed)} of ${counted(trials)} trials failed; \`fabricbench trials\` shows the reason of each.`;
}

/** Last part of the name of each factor, or the whole name where last parts are equal. */
export function heads(names: readonly string[]): string[] {
  const last = names.map((name) => name.split('.').at(-1) ?? name);
  return last.map((head, index) =>
    last.indexOf(head) === last.lastIndexOf(head) ? head : (names[index] ?? ''),
  );
}

type FactorValues = Record<string, string | number | null>;

/** Table columns of the factors. */
export function factorColumns(names: readonly string[]): TableColumn<FactorValues>[] {
  const titles = heads(names);
  return names.map((name, index) => ({
    title: titles[index] ?? name,
    key: name,
    hint: name,
    cell: (row) => row[name],
  }));
}

/** Key of a table row: the values of the factors. */
export function settingKey(names: readonly string[]) {
  return (row: FactorValues) => names.map((name) => row[name]).join();
}

/** Text of a setting: "data_size 1 MB, ack_every 4". */
export function settingText(setting: CampaignSetting, factors: readonly string[]): string {
  const short = heads(factors);
  return factors.map((name, index) => `${short[index]} ${setting[name]}`).join(', ');
}

/** Mean of a setting with confidence interval and unit. */
export function meanText({ mean, margin }: CampaignSetting, unit: string): string {
  const interval = margin === null ? '' : ` ± ${significant(margin, 3)}`;
  return `${significant(mean, 5)}${interval}${unit === '' ? '' : ` ${unit}`}`;
}

/** Percentage with three digits: "+6.67", "-12.3". */
export function percentText(value: number | null, { signed = false } = {}): string {
  if (value === null || !Number.isFinite(value)) return MISSING;
  if (Math.abs(value) < 0.005) return '0.00';
  const decimals = Math.max(0, Math.min(2, 2 - Math.floor(Math.log10(Math.abs(value)))));
  return `${signed && value > 0 ? '+' : ''}${value.toFixed(decimals)}`;
}

interface Highlight {
  label: string;
  value: string;
  about: string;
}

/** Best and worst setting, and the factor with the largest effect. */
export function highlights(analysis: CampaignAnalysis): Highlight[] {
  const best = analysis.best[0];
  if (best === undefined) return [];
  const worst = analysis.worst.at(-1) ?? analysis.best.at(-1);
  const highlight = (label: string, each: CampaignSetting) => ({
    label,
    value: meanText(each, analysis.unit),
    about: settingText(each, analysis.factors),
  });
  const items = [highlight('Best', best)];
  if (worst !== undefined && worst !== best) items.push(highlight('Worst', worst));
  const most = analysis.effects[0]?.factor;
  const share = analysis.variance.find(({ source }) => source === most)?.share;
  if (most !== undefined && share !== undefined) {
    items.push({
      label: 'Largest effect',
      value: most,
      about: `${percentText(100 * share)} % of the variance`,
    });
  }
  return items;
}
