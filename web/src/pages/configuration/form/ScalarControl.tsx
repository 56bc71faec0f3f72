import { Autocomplete, NativeSelect, Switch, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';

import { usePlanForm } from './context';
import type { FieldPath } from '../planYaml';
import { type Forms, placeholderOf, scalarOf, type Schema, shown } from './schema';

export interface ControlProps {
  path: FieldPath;
  schema: Schema;
  forms: Forms;
  value: unknown;
}

/** One value: a switch, a choice, a text, or a text with some values to choose. */
export function ScalarControl(props: ControlProps) {
  const { forms } = props;
  if (forms.options.length === 2 && forms.options.includes(true)) return <BooleanControl {...props} />;
  if (forms.text === null) return <ChoiceControl {...props} />;
  return <TextControl {...props} />;
}

function BooleanControl({ path, schema, value }: ControlProps) {
  const { set } = usePlanForm();
  const checked = value === undefined ? schema.default === true : value === true;
  return (
    <Switch
      id={`field-${path.join('.')}`}
      checked={checked}
      onChange={(event) => set(path, event.currentTarget.checked)}
      mt={5}
    />
  );
}

function ChoiceControl({ path, schema, forms, value }: ControlProps) {
  const { set } = usePlanForm();
  const data = forms.options.map((option) => ({ value: String(option), label: String(option) }));
  const current = shown(value);
  const known = current === '' || data.some((option) => option.value === current);
  return (
    <NativeSelect
      id={`field-${path.join('.')}`}
      size="xs"
      value={current}
      onChange={(event) => {
        const chosen = event.currentTarget.value;
        set(
          path,
          forms.options.find((option) => String(option) === chosen),
        );
      }}
      data={[
        { value: '', label: emptyLabel(schema) },
        ...(known ? [] : [{ value: current, label: current }]),
        ...data,
      ]}
    />
  );
}

export function emptyLabel(schema: Schema): string {
  const placeholder = placeholderOf(schema, null);
  return placeholder === '' || placeholder.startsWith('such as') ? '' : `default: ${placeholder}`;
}

function TextControl({ path, schema, forms, value }: ControlProps) {
  const { set } = usePlanForm();
  const [draft, setDraft] = useDraft(value);
  const change = (text: string) => {
    setDraft(text);
    set(path, scalarOf(text));
  };
  const common = {
    id: `field-${path.join('.')}`,
    size: 'xs',
    value: draft,
    placeholder: placeholderOf(schema, forms.text),
  };
  if (forms.options.length > 0)
    return <Autocomplete {...common} data={forms.options.map(String)} onChange={change} />;
  if (path.at(-1) === 'description') {
    return (
      <Textarea
        {...common}
        autosize
        minRows={2}
        maxRows={8}
        onChange={(event) => change(event.currentTarget.value)}
      />
    );
  }
  return <TextInput {...common} onChange={(event) => change(event.currentTarget.value)} />;
}

/** What is being typed; it gives way when the plan's value becomes another one, as by the editor. */
function useDraft(value: unknown): [string, (text: string) => void] {
  const outside = shown(value);
  const [draft, setDraft] = useState(outside);
  const isOurs = String(scalarOf(draft) ?? '') === outside;
  return [isOurs ? draft : outside, setDraft];
}
