import { Badge } from '@mantine/core';

const COLOURS: Record<string, string> = {
  complete: 'teal',
  imported: 'grape',
  running: 'blue',
  queued: 'gray',
  waiting: 'gray',
  incomplete: 'orange',
  interrupted: 'yellow',
  cancelled: 'gray',
  failed: 'red',
};

/** The state of a trial or run; the word says it, the colour only helps. */
export function StatusBadge({ status, title }: { status: string; title?: string | undefined }) {
  return (
    <Badge color={COLOURS[status] ?? 'gray'} title={title}>
      {status}
    </Badge>
  );
}
