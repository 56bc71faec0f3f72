/** A plan's YAML, changed field by field so that its comments and its layout stay. */
import { Document, isCollection, isMap, isScalar, isSeq, parse, parseDocument } from 'yaml';

export type FieldPath = readonly (string | number)[];

const WRITTEN = { lineWidth: 110, flowCollectionPadding: false };

/** What the page opens with: small, complete, and quickly run. */
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

/** The fields of a plan; null while the text is no YAML mapping. */
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
 * Write a field; undefined takes it out, with the mappings that it leaves empty. The text of everything else stays as it
 * is: a plain value is replaced in its place; for other changes the section around it, such as `fabric`, is written again.
 */
export function withField(text: string, path: FieldPath, value: unknown): string {
  const document = parseDocument(text);
  if (document.errors.length > 0) return text;
  const node = isPlain(value) ? document.getIn(path, true) : null;
  if (isScalar(node) && node.range && node.type !== 'BLOCK_FOLDED' && node.type !== 'BLOCK_LITERAL') {
    return withScalar(text, node.range, value);
  }
  const section = sectionRange(document, text, path[0]);
  if (section === null) return appended(text, path, value);
  const { from, to } = section;
  const part = written(text.slice(from, to), path, value);
  return part === null ? (written(text, path, value) ?? text) : text.slice(0, from) + part + text.slice(to);
}

function isPlain(value: unknown): boolean {
  return value !== undefined && value !== null && typeof value !== 'object';
}

function withScalar(text: string, [from, to]: readonly number[], value: unknown): string {
  const [start = 0, end = 0] = [from, to];
  const space = start === end && !/\s/.test(text[start - 1] ?? ' ') ? ' ' : '';
  return text.slice(0, start) + space + scalarText(value) + text.slice(end);
}

/** A value as it may stand in a flow sequence, so that it may stand anywhere. */
function scalarText(value: unknown): string {
  const document = new Document([value]);
  if (isSeq(document.contents)) document.contents.flow = true;
  return document.toString(WRITTEN).trim().slice(1, -1);
}

/** Where the text of a field of the plan itself begins and ends, without the comments that lead to the next. */
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

/** How long the blank lines and comments at the end of a text are. */
function leadLength(text: string): number {
  return /(?:(?<=\n)(?:#[^\n]*)?\n)*$/.exec(text)?.[0].length ?? 0;
}

function appended(text: string, path: FieldPath, value: unknown): string {
  if (value === undefined) return text;
  const before = text === '' || text.endsWith('\n') ? text : `${text}\n`;
  return before + (written('', path, value) ?? '');
}

/** A text with a field changed, written again; null if it cannot stand alone. */
function written(text: string, path: FieldPath, value: unknown): string | null {
  const document = parseDocument(text);
  if (document.errors.length > 0) return null;
  if (value === undefined) remove(document, path);
  else set(document, path, value);
  if (isMap(document.contents) && document.contents.items.length === 0) return '';
  return spaced(document.toString(WRITTEN), text);
}

/** Put two spaces before the comments that had them. */
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

/** A mapping takes the place of a scalar on the way, as `{alpha: 1}` that of `on`. */
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
  const left = parent.length > 0 ? document.getIn(parent) : null;
  if (isCollection(left) && left.items.length === 0) remove(document, parent);
}

/** Write changes as the command line takes them, each `FIELD=VALUE` with a YAML value. */
export function withOverrides(text: string, overrides: readonly string[]): string {
  return overrides.reduce((before, override) => {
    const at = override.indexOf('=');
    if (at < 1) return before;
    return withField(before, pathOf(override.slice(0, at)), parse(override.slice(at + 1)));
  }, text);
}

/** The path of a field by its dotted name; a swept field has its own dotted name as its key. */
function pathOf(name: string): FieldPath {
  const swept = /^(sweep(?:\.zip)?)\.(?!data_size|message_size|zip)(.+)$/.exec(name);
  if (swept) return [...(swept[1] ?? '').split('.'), swept[2] ?? ''];
  return name.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

/** The least change that turns one text into another: what is between their common beginning and end. */
export function changeBetween(before: string, after: string) {
  let from = 0;
  const shorter = Math.min(before.length, after.length);
  while (from < shorter && before[from] === after[from]) from += 1;
  let end = 0;
  while (end < shorter - from && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  return { from, to: before.length - end, insert: after.slice(from, after.length - end) };
}
