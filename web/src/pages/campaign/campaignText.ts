import type { CampaignAnalysis, CampaignSetting } from '../../api/campaigns';
import type { Campaign, CampaignDetail } from '../../api/types';
import { counted, MISSING, significant } from '../../format/numbers';

/** While trials come in, what they come to is asked for again after each of so many parts of them. */
const PARTS = 40;

/** What changes when the analysis is worth asking for again. */
export function asOf({ progress, recorded }: Pick<CampaignDetail, 'progress' | 'recorded'>): number {
  if (progress.state !== 'running') return recorded;
  const step = Math.max(1, Math.ceil(progress.trials / PARTS));
  return recorded < step ? recorded : recorded - (recorded % step);
}

/** Why a campaign has ended without all of its records, and what to do; empty if there is nothing to say. */
export function endingText({ state, failed, trials }: Pick<Campaign, 'state' | 'failed' | 'trials'>): string {
  const again = 'The same command goes on with the rest; finished trials stay.';
  if (state === 'failed') return `It ended with an error, which its terminal has. ${again}`;
  if (state === 'interrupted') return `It was stopped, or its process is gone. ${again}`;
  if (failed === 0) return '';
  return `${counted(failed)} of ${counted(trials)} trials failed; \`fabricbench trials\` says why each did.`;
}

/** The last part of the name of each factor, or all of it where others end alike. */
export function heads(names: readonly string[]): string[] {
  const last = names.map((name) => name.split('.').at(-1) ?? name);
  return last.map((head, place) =>
    last.indexOf(head) === last.lastIndexOf(head) ? head : (names[place] ?? ''),
  );
}

/** What a setting is: "data_size 1 MB, ack_every 4". */
export function settingText(setting: CampaignSetting, factors: readonly string[]): string {
  const short = heads(factors);
  return factors.map((name, place) => `${short[place]} ${setting[name]}`).join(', ');
}

/** The mean of a setting with its interval and unit. */
export function meanText({ mean, margin }: CampaignSetting, unit: string): string {
  const interval = margin === null ? '' : ` ± ${significant(margin, 3)}`;
  return `${significant(mean, 5)}${interval}${unit === '' ? '' : ` ${unit}`}`;
}

/** An effect or a share in per cent with three digits: "+6.67", "-12.3". */
export function percentText(value: number | null, { signed = false } = {}): string {
  if (value === null || !Number.isFinite(value)) return MISSING;
  if (Math.abs(value) < 0.005) return '0.00';
  const decimals = Math.max(0, Math.min(2, 2 - Math.floor(Math.log10(Math.abs(value)))));
  return `${signed && value > 0 ? '+' : ''}${value.toFixed(decimals)}`;
}

/** What is read first: the best and the worst setting, and the factor that explains most. */
export function answers(told: CampaignAnalysis): { label: string; value: string; about: string }[] {
  const best = told.best[0];
  if (best === undefined) return [];
  const worst = told.worst.at(-1) ?? told.best.at(-1);
  const setting = (label: string, each: CampaignSetting) => ({
    label,
    value: meanText(each, told.unit),
    about: settingText(each, told.factors),
  });
  const found = [setting('Best', best)];
  if (worst !== undefined && worst !== best) found.push(setting('Worst', worst));
  const most = told.effects[0]?.factor;
  const share = told.variance.find(({ source }) => source === most)?.share;
  if (most !== undefined && share !== undefined) {
    found.push({
      label: 'Matters most',
      value: most,
      about: `${percentText(100 * share)} % of the variance`,
    });
  }
  return found;
}
