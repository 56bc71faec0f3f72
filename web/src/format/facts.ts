/**
 * Titles and values of the facts of a trial's run, such as `wall_s` or `memory_bytes`, whose names end in their unit;
 * flattens nested facts.
 */
import type { Engine, Facts } from '../api/types';
import { fileSize, MISSING, significant, simulatedTime } from './numbers';

/** Title of a fact, without its unit. */
export function factName(name: string): string {
  return name.replace(/_(s|ns|ps|bytes)$/, '').replaceAll('_', ' ');
}

/** Value with the unit at the end of its name. */
export function factText(name: string, value: string | number | boolean | null | undefined): string {
  if (typeof value !== 'number') return String(value ?? MISSING);
  if (name.endsWith('_ps')) return simulatedTime(value);
  if (name.endsWith('_ns')) return simulatedTime(value * 1e3);
  if (name.endsWith('_bytes')) return fileSize(value);
  return name.endsWith('_s') ? `${significant(value, 4)} s` : significant(value, 6);
}

/** Facts with nested mappings flattened, which inherit the unit of the mapping; lists are omitted. */
export function flatFacts(facts: Engine): Facts {
  const flat = Object.entries(facts).flatMap(([name, value]): [string, Facts[string]][] => {
    if (Array.isArray(value)) return [];
    if (typeof value !== 'object' || value === null) return [[name, value]];
    const [, title = name, unit = ''] = /^(.*?)(_(?:s|ns|ps|bytes))?$/.exec(name) ?? [];
    return Object.entries(value).map(([part, each]) => [`${title}: ${part}${unit}`, each]);
  });
  return Object.fromEntries(flat);
}
