import { TextInput } from '@mantine/core';
import { useState } from 'react';

import { usePlanForm } from './context';
import type { ControlProps } from './ScalarControl';
import { type Scalar, scalarOf } from './schema';

/** A list of plain values, with commas between them. */
export function ListText({ path, value }: ControlProps) {
  const { set } = usePlanForm();
  const outside = Array.isArray(value) ? (value as Scalar[]).map(String).join(', ') : '';
  const [draft, setDraft] = useState(outside);
  const isOurs = valuesOf(draft).map(String).join(', ') === outside;
  return (
    <TextInput
      aria-label={`Values of ${path.join('.')}`}
      size="xs"
      value={isOurs ? draft : outside}
      placeholder="16MB, 64MB, 1GB"
      onChange={(event) => {
        const text = event.currentTarget.value;
        setDraft(text);
        set(path, valuesOf(text));
      }}
    />
  );
}

export function valuesOf(text: string): Scalar[] {
  return text.split(',').flatMap((part) => scalarOf(part.trim()) ?? []);
}
