/**
 * Search for fields of a plan by name or meaning: lists the fields of the JSON Schema, ranks those that match some
 * words, and finds where a field is in the form, or the value to insert if its group is not in the plan.
 */
import { type FieldPath, valueAt } from '../planYaml';
import {
  type Definitions,
  type Forms,
  formsOf,
  type ObjectForm,
  resolve,
  type Schema,
  shown,
  unitOf,
} from './schema';

/** A mapping around a field: its path, and its `kind` if it has several. */
interface Group {
  path: FieldPath;
  kind: string | null;
}

/** A field of a plan; fields of several kinds of a mapping are one. */
export interface FieldEntry {
  name: string;
  path: FieldPath;
  schema: Schema;
  forms: Forms;
  /** Mappings around it, of which each kind is one alternative. */
  alternatives: Group[][];
}

const DEPTH_MAX = 7;

/** All fields of a plan's schema, those of lists with index 0. */
export function fieldsOfSchema(root: Schema): FieldEntry[] {
  const entries = new Map<string, FieldEntry>();
  collect(root, [], [], root.$defs ?? {}, entries);
  return [...entries.values()];
}

function collect(
  schema: Schema,
  path: FieldPath,
  groups: Group[],
  definitions: Definitions,
  entries: Map<string, FieldEntry>,
) {
  if (path.length > DEPTH_MAX) return;
  const forms = formsOf(schema, definitions);
  for (const object of forms.objects) {
    collectObject(object, path, [...groups, { path, kind: object.kind }], definitions, entries);
  }
  const items = forms.list?.items;
  if (items !== undefined) collect(items, [...path, 0], groups, definitions, entries);
}

function collectObject(
  { schema, kind }: ObjectForm,
  path: FieldPath,
  groups: Group[],
  definitions: Definitions,
  entries: Map<string, FieldEntry>,
) {
  for (const [property, raw] of Object.entries(schema.properties ?? {})) {
    if (property === 'kind' && kind !== null) continue;
    const own = resolve(raw, definitions);
    const fieldPath = [...path, property];
    const name = fieldPath.join('.');
    const known = entries.get(name);
    if (known) known.alternatives.push(groups);
    else {
      const forms = formsOf(own, definitions);
      entries.set(name, { name, path: fieldPath, schema: own, forms, alternatives: [groups] });
    }
    collect(own, fieldPath, groups, definitions, entries);
  }
}

/** Words that mean the same in descriptions of fields. */
const SAME: readonly (readonly string[])[] = [
  ['retransm', 'resend'],
  ['loss', 'lost', 'drop'],
  ['pause', 'pfc'],
  ['marking', 'ecn'],
  ['speed', 'rate'],
  ['delay', 'latency', 'propagation'],
  ['jumbo', 'mtu'],
  ['gpu', 'server'],
  ['spray', 'load_balancing', 'load balancing'],
];

/** Fields that match every word, the best first. */
export function searchFields(entries: readonly FieldEntry[], text: string, limit: number): FieldEntry[] {
  const words = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(stemOf);
  if (words.length === 0) return [];
  const ranked = entries
    .map((entry) => ({ entry, rank: rankOf(entry, words) }))
    .filter(({ rank }) => rank > 0);
  ranked.sort((a, b) => b.rank - a.rank || a.entry.path.length - b.entry.path.length);
  return ranked.slice(0, limit).map(({ entry }) => entry);
}

/** Beginning of a word that its forms share: retransmission, retransmit. */
function stemOf(word: string): string {
  if (word.length >= 9) return word.slice(0, 8);
  return word.length >= 5 ? word.replace(/(ing|ed|es|s)$/, '') : word;
}

/** Sum over the words; 0 if one does not match. */
function rankOf(entry: FieldEntry, words: readonly string[]): number {
  const ranks = words.map((word) => Math.max(...alike(word).map((each) => rankOfWord(entry, each))));
  return ranks.includes(0) ? 0 : ranks.reduce((sum, rank) => sum + rank, 0);
}

function alike(word: string): string[] {
  const others = SAME.filter((same) =>
    same.some((each) => each.startsWith(word) || word.startsWith(each)),
  ).flat();
  return [...new Set([word, ...others])];
}

function rankOfWord({ name, path, schema }: FieldEntry, word: string): number {
  const last = String(path.at(-1)).toLowerCase();
  if (last === word) return 100;
  if (last.startsWith(word)) return 70;
  if (last.includes(word)) return 50;
  if (name.toLowerCase().includes(word)) return 30;
  return (schema.description ?? '').toLowerCase().includes(word) ? 20 : 0;
}

/** Unit and default of a field in a few words. */
export function aboutField({ schema, alternatives, forms }: FieldEntry): string {
  const unit = unitOf(schema);
  const value = schema.default;
  const kinds = [...new Set(alternatives.map((groups) => groups.at(-1)?.kind ?? ''))].filter(Boolean);
  const options =
    forms.options.length > 0 && forms.options.length <= 8 ? forms.options.map(String).join(', ') : '';
  return [
    unit === '' ? '' : `[${unit}]`,
    value === undefined || value === null || value === '' ? '' : `default ${shown(value)}`,
    options,
    kinds.length > 0 && kinds.length <= 3 ? `of ${kinds.join(', ')}` : '',
  ]
    .filter((part) => part !== '')
    .join(' · ');
}

/** Where to go for a field. */
export interface FoundField {
  name: string;
  schema: Schema;
  /** Field whose control gets the focus: its own, or the one that selects another kind first. */
  target: string;
  /** Path and value to set first, as the field is not in the form; no value where it is. */
  path: FieldPath;
  insert: unknown;
}

export function goal(entry: FieldEntry, fields: unknown): FoundField {
  const found = { name: entry.name, schema: entry.schema, path: entry.path, insert: null };
  const open = entry.alternatives.find((groups) =>
    groups.every((group) => stateOf(group, fields) === 'open'),
  );
  if (open) return { ...found, target: entry.name };
  const groups = entry.alternatives.find((each) => each.every((group) => stateOf(group, fields) !== 'other'));
  if (groups === undefined) {
    const other = entry.alternatives[0]?.find((group) => stateOf(group, fields) === 'other');
    return { ...found, target: (other?.path ?? entry.path).join('.') };
  }
  const closed = groups.find((group) => stateOf(group, fields) === 'closed');
  const list = entry.path.indexOf(0);
  if (list >= 0 && valueAt(fields, entry.path.slice(0, list + 1)) === undefined)
    return { ...found, target: entry.path.slice(0, list).join('.') };
  if (closed === undefined) return { ...found, target: entry.name };
  return { ...found, target: entry.name, path: closed.path, insert: nestedValue(entry, groups, closed) };
}

/** Whether the plan has a mapping of this kind, one of another kind, or none yet; groups that are always shown are open. */
function stateOf({ path, kind }: Group, fields: unknown): 'open' | 'other' | 'closed' {
  const value = valueAt(fields, path);
  if (typeof value === 'object' && value !== null) {
    const own = 'kind' in value ? value.kind : null;
    return kind === null || own === kind ? 'open' : 'other';
  }
  if (typeof value === 'string' && kind !== null && value !== kind) return 'other';
  return path.length < 2 || isPlain(path) ? 'open' : 'closed';
}

/** Mappings that the form shows without a value. */
const PLAIN = ['fabric.switch', 'sweep.zip'];

function isPlain(path: FieldPath): boolean {
  return PLAIN.includes(path.join('.'));
}

/** Value of a group with the field in it. */
function nestedValue({ path, forms, schema }: FieldEntry, groups: readonly Group[], from: Group): unknown {
  const inner = groups.slice(groups.indexOf(from)).reverse();
  let value = firstValue(schema, forms);
  let end = path.length;
  for (const group of inner) {
    const names = path.slice(group.path.length, end);
    value = names.reduceRight<unknown>(
      (nested, name) => (typeof name === 'number' ? [nested] : { [name]: nested }),
      value,
    );
    if (group.kind !== null && typeof value === 'object') value = { kind: group.kind, ...value };
    end = group.path.length;
  }
  return value;
}

/** A value to start from: default, example or first option. */
function firstValue(schema: Schema, forms: Forms): unknown {
  const { default: value } = schema;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return schema.examples?.[0] ?? forms.text?.examples?.[0] ?? forms.options[0] ?? 1;
}
