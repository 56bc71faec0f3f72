import { Badge } from '@mantine/core';

const COLOURS: Record<string, string> = {
  complete: 'gray',
  imported: 'grape',
  running: 'blue',
  queued: 'gray',
  waiting: 'gray',
  incomplete: 'orange',
  interrupted: 'yellow',
  cancelled: 'gray',
  failed: 'red',
};

/**
 * The state of a trial or run; the word says it, the colour only helps. None is green: that something is
 * complete is no verdict, which only criteria and comparisons give.
 */
export function StatusBadge({ status, title }: { status: string; title?: string | undefined }) {
  return (
    <Badge color={COLOURS[status] ?? 'gray'} title={title}>
      {status}
    </Badge>
  );
}
