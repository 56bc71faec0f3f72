/** Search field for fields of a plan by name or meaning; the chosen one gets the focus, and is inserted if needed. */
import { Select, Text } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useMemo, useState } from 'react';

import { usePlanForm } from './context';
import type { Schema } from './schema';
import { sectionOf } from './sections';
import { aboutField, fieldsOfSchema, type FoundField, goal, searchFields } from './searchFields';

const SHOWN = 12;

interface Props {
  root: Schema;
  onField: (found: FoundField) => void;
}

export function FieldSearch({ root, onField }: Props) {
  const { fields } = usePlanForm();
  const entries = useMemo(
    () => fieldsOfSchema(root).filter(({ name }) => sectionOf(name) !== undefined),
    [root],
  );
  const [text, setText] = useState('');
  const found = searchFields(entries, text, SHOWN);
  const byName = new Map(found.map((entry) => [entry.name, entry]));
  return (
    <Select
      aria-label="Find a field"
      placeholder="Find a field: ecn, buffer, retransmission …"
      leftSection={<IconSearch size={14} aria-hidden />}
      rightSection={<span />}
      searchable
      searchValue={text}
      onSearchChange={setText}
      data={found.map(({ name }) => name)}
      filter={({ options }) => options}
      nothingFoundMessage={
        text.trim() === '' ? 'A name or a word of the description' : 'No field has these words'
      }
      value={null}
      maxDropdownHeight={420}
      onChange={(name) => {
        const entry = byName.get(name ?? '');
        if (entry) onField(goal(entry, fields));
        setText('');
      }}
      renderOption={({ option }) => {
        const entry = byName.get(option.value);
        if (entry === undefined) return option.value;
        return (
          <div>
            <Text size="sm">
              <b className="mono">{entry.name}</b> <span className="muted">{aboutField(entry)}</span>
            </Text>
            <Text size="xs" className="muted" lineClamp={2}>
              {entry.schema.description}
            </Text>
          </div>
        );
      }}
    />
  );
}
