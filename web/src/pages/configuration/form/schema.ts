/** What a form needs to know of the plan's JSON Schema: which kinds of value a field takes. */

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

export interface ObjectForm {
  label: string;
  /** Value of the field `kind` that tells this form from its siblings, if it has one. */
  kind: string | null;
  schema: Schema;
}

/** Every kind of value that a field takes. */
export interface Forms {
  options: Scalar[];
  text: Schema | null;
  list: Schema | null;
  objects: ObjectForm[];
}

/** Follow references; what stands beside one, such as a description, counts more. */
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
  // A text that takes commas makes a list of its own needless.
  if (forms.text?.pattern !== undefined && new RegExp(forms.text.pattern, 'u').test('0,1')) forms.list = null;
  return forms;
}

function collect(schema: Schema, definitions: Definitions, forms: Forms) {
  const found = resolve(schema, definitions);
  const alternatives = found.anyOf ?? found.oneOf;
  if (alternatives !== undefined) for (const each of alternatives) collect(each, definitions, forms);
  else if (found.enum !== undefined) forms.options.push(...found.enum);
  else if (found.const !== undefined) addConstant(found, forms);
  else addType(found, forms);
}

/** `0` beside a time such as "2us" is a text like the others. */
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

/** Which form a value has: one of the options, a text, a list or an object; null if it is not there. */
export function formOf(value: unknown, forms: Forms): 'option' | 'text' | 'list' | ObjectForm | null {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'object') {
    const kind = 'kind' in value ? value.kind : null;
    return forms.objects.find((form) => form.kind === kind) ?? forms.objects[0] ?? null;
  }
  return forms.options.includes(value as Scalar) ? 'option' : 'text';
}

/** What is typed into a field: whole numbers where the text is one, else the text; nothing if it is empty. */
export function scalarOf(text: string): Scalar | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  if (/^-?\d{1,15}$/.test(trimmed)) return Number(trimmed);
  if (/^-?\d+\.\d+$/.test(trimmed) && !trimmed.endsWith('0')) return Number(trimmed);
  return text;
}

/** The unit in a description's brackets, `[packets]`; those that a value writes itself are left out. */
export function unitOf(schema: Schema): string {
  const unit = /\[([^\]]+)\]/.exec(schema.description ?? '')?.[1] ?? '';
  return ['size', 'time', 'rate'].includes(unit) ? '' : unit;
}

/** What a field with nothing in it shows: its default, or an example in the form that it takes. */
export function placeholderOf(schema: Schema, text: Schema | null): string {
  const given = schema.default;
  if (given !== undefined && given !== null && given !== '') return shown(given);
  const example = schema.examples?.[0] ?? text?.examples?.[0];
  return example === undefined ? '' : `such as ${shown(example)}`;
}

/** A value as the plan would write it; nothing if it is not there. */
export function shown(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
