/** List of notes about a plan or a result, such as the accuracy of a model; nothing without notes. */
import { List } from '@mantine/core';

import { CodeText } from './CodeText';

export function NoteList({ label, notes }: { label: string; notes: readonly string[] }) {
  if (notes.length === 0) return null;
  return (
    <List size="xs" mt={6} spacing={2} aria-label={label}>
      {notes.map((note) => (
        <List.Item key={note}>
          <CodeText text={note} />
        </List.Item>
      ))}
    </List>
  );
}
