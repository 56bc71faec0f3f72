/**
 * Control of the plan's form for a field that accepts several kinds of values: menu of the kinds (constants, one
 * value, list, mappings), then the control of the selected kind.
 */
import { NativeSelect } from '@mantine/core';

import { usePlanForm } from './context';
import { ObjectFields } from './ObjectFields';
import { type ControlProps, emptyLabel, ListText, ScalarControl } from './ScalarControl';
import { formOf, type ObjectForm, shown } from './schema';

const TEXT = '·text';
const LIST = '·list';

export function UnionControl(props: ControlProps) {
  const { path, schema, forms, value } = props;
  const { set } = usePlanForm();
  const form = formOf(value, forms);
  return (
    <div className="plan-union">
      <NativeSelect
        id={`field-${path.join('.')}`}
        size="xs"
        value={keyOf(form, value)}
        onChange={(event) => set(path, startOf(event.currentTarget.value, props))}
        data={[
          { value: '', label: emptyLabel(schema) },
          ...forms.options.map((option) => ({ value: String(option), label: String(option) })),
          ...(forms.text === null
            ? []
            : [{ value: TEXT, label: forms.list === null ? 'a value' : 'one value' }]),
          ...(forms.list === null ? [] : [{ value: LIST, label: 'a list' }]),
          ...forms.objects.map((object) => ({ value: object.label, label: labelOf(object) })),
        ]}
      />
      {form === 'text' ? <ScalarControl {...props} forms={{ ...forms, options: [] }} /> : null}
      {form === 'list' ? <ListText {...props} /> : null}
      {typeof form === 'object' && form !== null ? (
        <div className="plan-nested">
          <ObjectFields path={path} schema={form.schema} value={value} />
        </div>
      ) : null}
    </div>
  );
}

function keyOf(form: ReturnType<typeof formOf>, value: unknown): string {
  if (form === null) return '';
  if (form === 'text') return TEXT;
  if (form === 'list') return LIST;
  return form === 'option' ? shown(value) : form.label;
}

function labelOf(object: ObjectForm): string {
  const names = Object.keys(object.schema.properties ?? {});
  return names.includes('start') && names.includes('end') ? 'from, to' : object.label;
}

/** First value of a selected kind; its required fields are then shown as missing. */
function startOf(kind: string, { forms, schema, value }: ControlProps): unknown {
  if (kind === '') return undefined;
  if (kind === TEXT) return firstText(schema, forms.text?.examples, value);
  if (kind === LIST) return [firstText(schema, forms.list?.items?.examples ?? forms.text?.examples, value)];
  const object = forms.objects.find(({ label }) => label === kind);
  if (object !== undefined) return object.kind === null ? {} : { kind: object.kind };
  return forms.options.find((option) => String(option) === kind);
}

function firstText(schema: ControlProps['schema'], examples: unknown[] | undefined, value: unknown): unknown {
  const before: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof before === 'string' || typeof before === 'number') return before;
  return examples?.[0] ?? schema.examples?.[0] ?? 1;
}
