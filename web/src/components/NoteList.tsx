import { List } from '@mantine/core';

/** Sentences about a plan or a result, such as how far a model may be off; nothing if there are none. */
export function NoteList({ label, notes }: { label: string; notes: readonly string[] }) {
  if (notes.length === 0) return null;
  return (
    <List size="xs" mt={6} spacing={2} aria-label={label}>
      {notes.map((note) => (
        <List.Item key={note}>{note}</List.Item>
      ))}
    </List>
  );
}
