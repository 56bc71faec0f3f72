/**
 * Input controls of the plan's form for one scalar (switch, menu, text, text with suggestions); ListText for a list
 * of scalars, typed with commas.
 */
import { Autocomplete, NativeSelect, Switch, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';

import { usePlanForm } from './context';
import type { FieldPath } from '../planYaml';
import { type Forms, placeholderOf, type Scalar, scalarOf, type Schema, shown } from './schema';

export interface ControlProps {
  path: FieldPath;
  schema: Schema;
  forms: Forms;
  value: unknown;
}

export function ScalarControl(props: ControlProps) {
  const { forms } = props;
  if (forms.options.length === 2 && forms.options.includes(true)) return <BooleanControl {...props} />;
  if (forms.text === null) return <SelectControl {...props} />;
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

function SelectControl({ path, schema, forms, value }: ControlProps) {
  const { set } = usePlanForm();
  const data = forms.options.map((option) => ({ value: String(option), label: String(option) }));
  const current = shown(value);
  const isOption = current === '' || data.some((option) => option.value === current);
  return (
    <NativeSelect
      id={`field-${path.join('.')}`}
      size="xs"
      value={current}
      onChange={(event) => {
        const selected = event.currentTarget.value;
        set(
          path,
          forms.options.find((option) => String(option) === selected),
        );
      }}
      data={[
        { value: '', label: emptyLabel(schema) },
        ...(isOption ? [] : [{ value: current, label: current }]),
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

/** Text being typed; replaced when the plan's value changes elsewhere, as in the editor. */
function useDraft(value: unknown): [string, (text: string) => void] {
  const current = shown(value);
  const [draft, setDraft] = useState(current);
  const isCurrent = String(scalarOf(draft) ?? '') === current;
  return [isCurrent ? draft : current, setDraft];
}

/** List of scalars as text with commas. */
export function ListText({ path, value }: Pick<ControlProps, 'path' | 'value'>) {
  const { set } = usePlanForm();
  const current = Array.isArray(value) ? (value as Scalar[]).map(String).join(', ') : '';
  const [draft, setDraft] = useState(current);
  const isCurrent = valuesOf(draft).map(String).join(', ') === current;
  return (
    <TextInput
      aria-label={`Values of ${path.join('.')}`}
      size="xs"
      value={isCurrent ? draft : current}
      placeholder="16MB, 64MB, 1GB"
      onChange={(event) => {
        const text = event.currentTarget.value;
        setDraft(text);
        set(path, valuesOf(text));
      }}
    />
  );
}

function valuesOf(text: string): Scalar[] {
  return text.split(',').flatMap((part) => scalarOf(part.trim()) ?? []);
}
