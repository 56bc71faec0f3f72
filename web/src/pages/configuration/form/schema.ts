/**
 * Reads the plan's JSON Schema for the form: resolves references, collects the kinds of values that a field allows
 * (constants, text, list, mappings), units and placeholders; converts typed text to values.
 */
export type Scalar = string | number | boolean;

export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string;
  enum?: Scalar[];
  const?: Scalar;
  anyOf?: Schema[];
  oneOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  description?: string;
  default?: unknown;
  format?: string;
  pattern?: string;
  examples?: unknown[];
}

export type Definitions = Record<string, Schema>;

/** A mapping that a field accepts. */
export interface ObjectForm {
  label: string;
  /** Value of the field `kind` that identifies this form among its siblings, if it has one. */
  kind: string | null;
  schema: Schema;
}

/** Kinds of values that a field accepts. */
export interface Forms {
  options: Scalar[];
  text: Schema | null;
  list: Schema | null;
  objects: ObjectForm[];
}

/** Schema with references resolved; its own keywords, such as a description, override those of the reference. */
export function resolve(schema: Schema, definitions: Definitions): Schema {
  if (schema.$ref === undefined) return schema;
  const { $ref, ...own } = schema;
  const target = definitions[$ref.replace('#/$defs/', '')];
  if (target === undefined) throw new Error(`the schema refers to ${$ref}, which it does not have`);
  return { ...resolve(target, definitions), ...own };
}

export function formsOf(schema: Schema, definitions: Definitions): Forms {
  const forms: Forms = { options: [], text: null, list: null, objects: [] };
  collect(schema, definitions, forms);
  // A text with commas replaces a list.
  if (forms.text?.pattern !== undefined && new RegExp(forms.text.pattern, 'u').test('0,1')) forms.list = null;
  return forms;
}

function collect(schema: Schema, definitions: Definitions, forms: Forms) {
  const resolved = resolve(schema, definitions);
  const alternatives = resolved.anyOf ?? resolved.oneOf;
  if (alternatives !== undefined) for (const each of alternatives) collect(each, definitions, forms);
  else if (resolved.enum !== undefined) forms.options.push(...resolved.enum);
  else if (resolved.const !== undefined) addConstant(resolved, forms);
  else addType(resolved, forms);
}

/** A constant number, such as `0` as an alternative to times like "2us", is a text. */
function addConstant(schema: Schema, forms: Forms) {
  if (typeof schema.const === 'number') forms.text ??= schema;
  else if (schema.const !== undefined) forms.options.push(schema.const);
}

function addType(schema: Schema, forms: Forms) {
  if (schema.type === 'boolean') forms.options.push(true, false);
  else if (schema.type === 'array') forms.list = schema;
  else if (schema.type === 'object') forms.objects.push(objectForm(schema));
  else if (schema.type === 'string') forms.text = schema;
  else if (schema.type === 'integer' || schema.type === 'number') forms.text ??= schema;
}

function objectForm(schema: Schema): ObjectForm {
  const kind = schema.properties?.kind?.const;
  return typeof kind === 'string'
    ? { label: kind, kind, schema }
    : { label: 'set each value', kind: null, schema };
}

/** Kind of a value: one of the options, a text, a list or an object; null if the field is not set. */
export function formOf(value: unknown, forms: Forms): 'option' | 'text' | 'list' | ObjectForm | null {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'object') {
    const kind = 'kind' in value ? value.kind : null;
    return forms.objects.find((form) => form.kind === kind) ?? forms.objects[0] ?? null;
  }
  return forms.options.includes(value as Scalar) ? 'option' : 'text';
}

/** Value of typed text: a number if the text is one, otherwise the text; undefined if it is empty. */
export function scalarOf(text: string): Scalar | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  if (/^-?\d{1,15}$/.test(trimmed)) return Number(trimmed);
  if (/^-?\d+\.\d+$/.test(trimmed) && !trimmed.endsWith('0')) return Number(trimmed);
  return text;
}

/** Unit in the brackets of a description, `[packets]`; empty where values contain their unit. */
export function unitOf(schema: Schema): string {
  const unit = /\[([^\]]+)\]/.exec(schema.description ?? '')?.[1] ?? '';
  return ['size', 'time', 'rate'].includes(unit) ? '' : unit;
}

/** Placeholder of an empty field: its default or an example. */
export function placeholderOf(schema: Schema, text: Schema | null): string {
  const { default: value } = schema;
  if (value !== undefined && value !== null && value !== '') return shown(value);
  const example = schema.examples?.[0] ?? text?.examples?.[0];
  return example === undefined ? '' : `such as ${shown(example)}`;
}

/** Text of a value in a plan; empty if the field is not set. */
export function shown(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
