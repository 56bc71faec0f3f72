/**
 * Edits a plan's YAML text field by field, preserving comments and layout: parses fields, sets and removes values,
 * applies `FIELD=VALUE` overrides, finds the smallest change between two texts; first and empty plan.
 */
import { Document, isCollection, isMap, isScalar, isSeq, parse, parseDocument } from 'yaml';

export type FieldPath = readonly (string | number)[];

const FORMAT = { lineWidth: 110, flowCollectionPadding: false };

/** Initial plan of the page: small, complete and fast to run. */
export const FIRST_PLAN = `fabricbench: 1
name: my-test
title: All-to-all of 8 ranks on two leaves
fabric:
  topology: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 2}
jobs:
  - {name: test, ranks: 0-7, collective: all-to-all}
sweep:
  data_size: [1MB, 16MB]
`;

export const EMPTY_PLAN = `fabricbench: 1
name: my-test
`;

/** Fields of a plan; null if the text is no YAML mapping. */
export function fieldsOf(text: string): Record<string, unknown> | null {
  const document = parseDocument(text);
  if (document.errors.length > 0) return null;
  const fields: unknown = document.toJS();
  if (fields === null) return {};
  return typeof fields === 'object' && !Array.isArray(fields) ? (fields as Record<string, unknown>) : null;
}

export function valueAt(fields: unknown, path: FieldPath): unknown {
  let value = fields;
  for (const part of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string | number, unknown>)[part];
  }
  return value;
}

/**
 * Sets a field; undefined removes it with the mappings that become empty. The rest of the text stays: a scalar is replaced
 * in the text; for other changes the section of the field, such as `fabric`, is formatted again.
 */
export function withField(text: string, path: FieldPath, value: unknown): string {
  const document = parseDocument(text);
  if (document.errors.length > 0) return text;
  const node = isPlain(value) ? document.getIn(path, true) : null;
  if (isScalar(node) && node.range && node.type !== 'BLOCK_FOLDED' && node.type !== 'BLOCK_LITERAL') {
    return withScalar(text, node.range, value);
  }
  const section = sectionRange(document, text, path[0]);
  if (section === null && isMap(document.contents) && document.contents.flow)
    return formatted(text, path, value) ?? text;
  if (section === null) return appended(text, path, value);
  const { from, to } = section;
  const part = formatted(text.slice(from, to), path, value);
  return part === null ? (formatted(text, path, value) ?? text) : text.slice(0, from) + part + text.slice(to);
}

function isPlain(value: unknown): boolean {
  return value !== undefined && value !== null && typeof value !== 'object';
}

function withScalar(text: string, [from, to]: readonly number[], value: unknown): string {
  const [start = 0, end = 0] = [from, to];
  const space = start === end && !/\s/.test(text[start - 1] ?? ' ') ? ' ' : '';
  return text.slice(0, start) + space + scalarText(value) + text.slice(end);
}

/** Value in the notation of flow sequences, which is valid everywhere. */
function scalarText(value: unknown): string {
  const document = new Document([value]);
  if (isSeq(document.contents)) document.contents.flow = true;
  return document.toString(FORMAT).trim().slice(1, -1);
}

/** Range of the text of a top-level field, without the comments before the next field. */
function sectionRange(document: Document.Parsed, text: string, name: FieldPath[number] | undefined) {
  if (!isMap(document.contents) || document.contents.flow) return null;
  const starts = document.contents.items.map(({ key }) => ({
    name: isScalar(key) ? key.value : null,
    from: isScalar(key) ? key.range[0] : 0,
  }));
  const index = starts.findIndex((start) => start.name === name);
  const from = starts[index]?.from;
  if (from === undefined) return null;
  const next = starts[index + 1]?.from ?? text.length;
  const lead = index + 1 < starts.length ? leadLength(text.slice(from, next)) : 0;
  return { from, to: next - lead };
}

/** Length of the blank lines and comments at the end of a text. */
function leadLength(text: string): number {
  return /(?:(?<=\n)(?:#[^\n]*)?\n)*$/.exec(text)?.[0].length ?? 0;
}

function appended(text: string, path: FieldPath, value: unknown): string {
  if (value === undefined) return text;
  const before = text === '' || text.endsWith('\n') ? text : `${text}\n`;
  return before + (formatted('', path, value) ?? '');
}

/** YAML text with a field changed, formatted again; null if the text is no valid YAML. */
function formatted(text: string, path: FieldPath, value: unknown): string | null {
  const document = parseDocument(text);
  if (document.errors.length > 0) return null;
  if (value === undefined) remove(document, path);
  else set(document, path, value);
  if (isMap(document.contents) && document.contents.items.length === 0) return '';
  return spaced(document.toString(FORMAT), text);
}

/** Restores two spaces before the comments that had them. */
function spaced(text: string, before: string): string {
  const comments = new Set(Array.from(before.matchAll(/ {2}(#.*)$/gm), ([, comment]) => comment));
  return text.replaceAll(/(?<=\S) (#.*)$/gm, (all: string, comment: string) =>
    comments.has(comment) ? ` ${all}` : all,
  );
}

function set(document: Document.Parsed, path: FieldPath, value: unknown) {
  clearScalars(document, path);
  const parent = document.getIn(path.slice(0, -1));
  if (isCollection(parent) && parent.items.length === 0) parent.flow = false;
  if (typeof path.at(-1) === 'number' && !document.hasIn(path.slice(0, -1))) {
    document.setIn(path.slice(0, -1), document.createNode([value]));
    return;
  }
  const plain = typeof value !== 'object' || value === null;
  document.setIn(path, plain ? value : document.createNode(value));
}

/** Removes scalars on a path, which mappings replace, such as `on` by `{alpha: 1}`. */
function clearScalars(document: Document.Parsed, path: FieldPath) {
  for (let length = 1; length < path.length; length += 1) {
    const part = path.slice(0, length);
    if (document.hasIn(part) && !isCollection(document.getIn(part, true))) document.deleteIn(part);
  }
}

function remove(document: Document.Parsed, path: FieldPath) {
  if (!document.hasIn(path)) return;
  document.deleteIn(path);
  const parent = path.slice(0, -1);
  const rest = parent.length > 0 ? document.getIn(parent) : null;
  if (isCollection(rest) && rest.items.length === 0) remove(document, parent);
}

/** Applies overrides of the command line, each `FIELD=VALUE` with a YAML value. */
export function withOverrides(text: string, overrides: readonly string[]): string {
  return overrides.reduce((before, override) => {
    const at = override.indexOf('=');
    if (at < 1) return before;
    return withField(before, pathOf(override.slice(0, at)), parse(override.slice(at + 1)));
  }, text);
}

/** A trial among those of its plan. */
interface PlannedTrial {
  variant: string;
  axes?: Record<string, unknown>;
  data_size_bytes: number | null;
  size_kind?: string;
}

/** Plan of one trial: with the settings of its variant and its swept values, without the other ones. */
export function planOfTrial(text: string, trial: PlannedTrial): string {
  const fields = fieldsOf(text);
  if (fields === null) return text;
  const variants = Array.isArray(fields.variants) ? (fields.variants as Record<string, unknown>[]) : [];
  const [name = ''] = trial.variant.split('/solo/');
  const own = variants.find((variant) => variant.name === name)?.set ?? {};
  const size = trial.size_kind === 'message' ? 'message_size' : 'data_size';
  const swept = trial.data_size_bytes === null ? {} : { [size]: [sizeText(trial.data_size_bytes)] };
  const changes = [...Object.entries(own), ...Object.entries(trial.axes ?? {})].map(
    ([field, value]) => [pathOf(field), value] as const,
  );
  const removed = ['variants', 'solo', 'search', 'sweep'].map((field) => [[field], undefined] as const);
  const all = [...changes, ...removed, ...('sweep' in fields ? [[['sweep'], swept] as const] : [])];
  return all.reduce((before, [path, value]) => withField(before, path, value), text);
}

/** A data size as plans write it, exact. */
function sizeText(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB'];
  let [value, unit] = [bytes, 0];
  while (value % 1024 === 0 && value > 0 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value}${units[unit]}`;
}

/** Path of a dotted field name; the key of a swept field is its dotted name. */
function pathOf(name: string): FieldPath {
  const swept = /^(sweep(?:\.zip)?)\.(?!data_size|message_size|zip)(.+)$/.exec(name);
  if (swept) return [...(swept[1] ?? '').split('.'), swept[2] ?? ''];
  return name.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

/** Smallest change from one text to another, between their common beginning and end. */
export function changeBetween(before: string, after: string) {
  let from = 0;
  const shorter = Math.min(before.length, after.length);
  while (from < shorter && before[from] === after[from]) from += 1;
  let end = 0;
  while (end < shorter - from && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  return { from, to: before.length - end, insert: after.slice(from, after.length - end) };
}
