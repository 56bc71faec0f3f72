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

interface Props {
  status: string;
  verdict?: string | null | undefined;
  title?: string | undefined;
}

/**
 * The state of a trial or run; the word says it, the colour only helps. None is green: that something is
 * complete is no verdict, which only criteria and comparisons give. What is complete and fails a criterion is
 * not met.
 */
export function StatusBadge({ status, verdict, title }: Props) {
  if (status === 'complete' && verdict === 'fail') {
    return (
      <Badge color="red" title={title ?? 'Complete, and a criterion of the plan is not met'}>
        not met
      </Badge>
    );
  }
  return (
    <Badge color={COLOURS[status] ?? 'gray'} title={title}>
      {status}
    </Badge>
  );
}
