import { NativeSelect } from '@mantine/core';

import { usePlanForm } from './context';
import { ListText } from './ListText';
import { ObjectFields } from './ObjectFields';
import { emptyLabel, type ControlProps, ScalarControl } from './ScalarControl';
import { formOf, type ObjectForm, shown } from './schema';

const TEXT = '·text';
const LIST = '·list';

/** A field that takes several kinds of value: first which kind, then the value. */
export function UnionControl(props: ControlProps) {
  const { path, schema, forms, value } = props;
  const { set } = usePlanForm();
  const form = formOf(value, forms);
  const choose = (chosen: string) => set(path, startOf(chosen, props));
  return (
    <div className="plan-union">
      <NativeSelect
        id={`field-${path.join('.')}`}
        size="xs"
        value={keyOf(form, value)}
        onChange={(event) => choose(event.currentTarget.value)}
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

/** The first value of a kind; fields that it needs are then shown as missing. */
function startOf(chosen: string, { forms, schema, value }: ControlProps): unknown {
  if (chosen === '') return undefined;
  if (chosen === TEXT) return firstText(schema, forms.text?.examples, value);
  if (chosen === LIST) return [firstText(schema, forms.list?.items?.examples ?? forms.text?.examples, value)];
  const object = forms.objects.find(({ label }) => label === chosen);
  if (object !== undefined) return object.kind === null ? {} : { kind: object.kind };
  return forms.options.find((option) => String(option) === chosen);
}

function firstText(schema: ControlProps['schema'], examples: unknown[] | undefined, value: unknown): unknown {
  const before: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof before === 'string' || typeof before === 'number') return before;
  return examples?.[0] ?? schema.examples?.[0] ?? 1;
}
