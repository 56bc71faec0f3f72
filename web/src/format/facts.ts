/** Facts by names of a backend's own, which end in their unit. */
import type { Engine, Facts } from '../api/types';
import { fileSize, MISSING, significant, simulatedTime } from './numbers';

/** What a fact is called, without its unit. */
export function factName(name: string): string {
  return name.replace(/_(s|ns|ps|bytes)$/, '').replaceAll('_', ' ');
}

/** Its value, with the unit that its name ends in. */
export function factText(name: string, value: string | number | boolean | null | undefined): string {
  if (typeof value !== 'number') return String(value ?? MISSING);
  if (name.endsWith('_ps')) return simulatedTime(value);
  if (name.endsWith('_ns')) return simulatedTime(value * 1e3);
  if (name.endsWith('_bytes')) return fileSize(value);
  return name.endsWith('_s') ? `${significant(value, 4)} s` : significant(value, 6);
}

/** Facts beside those of mappings, each of which keeps the unit of its mapping; lists are left out. */
export function flatFacts(facts: Engine): Facts {
  const flat = Object.entries(facts).flatMap(([name, value]): [string, Facts[string]][] => {
    if (value === undefined || Array.isArray(value)) return [];
    if (typeof value !== 'object' || value === null) return [[name, value]];
    const [, about = name, unit = ''] = /^(.*?)(_(?:s|ns|ps|bytes))?$/.exec(name) ?? [];
    return Object.entries(value).map(([part, each]) => [`${about}: ${part}${unit}`, each]);
  });
  return Object.fromEntries(flat);
}
