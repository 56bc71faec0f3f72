/**
 * Fields of a mapping in the plan's form: shows the first seven and those that are required, set, wrong or revealed; the others
 * behind "more fields".
 */
import { Anchor } from '@mantine/core';
import { useState } from 'react';

import { usePlanForm } from './context';
import { Field } from './Field';
import type { FieldPath } from '../planYaml';
import type { Schema } from './schema';

interface Props {
  path: FieldPath;
  schema: Schema;
  value: unknown;
}

const FIRST_FIELDS = 7;

/** Whether a field is, or is part of, another. */
export function isWithin(field: string | null, owner: string): boolean {
  return field !== null && (field === owner || field.startsWith(`${owner}.`));
}

export function ObjectFields({ path, schema, value }: Props) {
  const { errors, revealed } = usePlanForm();
  const [open, setOpen] = useState(false);
  const required = schema.required ?? [];
  const all = Object.entries(schema.properties ?? {}).filter(
    ([name, each]) => !(name === 'kind' && each.const),
  );
  const set = new Set(typeof value === 'object' && value !== null ? Object.keys(value) : []);
  const wrong = new Set(errors.map((error) => error.field));
  const isShown = (name: string, index: number) =>
    required.includes(name) ||
    set.has(name) ||
    index < FIRST_FIELDS ||
    wrong.has([...path, name].join('.')) ||
    isWithin(revealed, [...path, name].join('.'));
  const shown = all.filter(([name], index) => open || isShown(name, index));
  const hidden = all.length - shown.length;
  return (
    <div>
      {shown.map(([name, each]) => (
        <Field key={name} path={[...path, name]} schema={each} required={required.includes(name)} />
      ))}
      {hidden > 0 ? (
        <Anchor component="button" type="button" size="xs" onClick={() => setOpen(true)}>
          {hidden} more fields
        </Anchor>
      ) : null}
    </div>
  );
}
