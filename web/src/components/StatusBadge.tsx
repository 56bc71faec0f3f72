/**
 * Coloured badge with the state of a trial, run or campaign; "not met" for a complete one that fails a criterion of
 * its plan.
 */
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

/** No state is green: completion is no verdict. A complete trial that fails a criterion is shown as not met. */
export function StatusBadge({ status, verdict, title }: Props) {
  if (status === 'complete' && verdict === 'fail') {
    return (
      <Badge
        miw="max-content"
        color="red"
        title={title ?? 'Complete, and a criterion of the plan is not met'}
      >
        not met
      </Badge>
    );
  }
  return (
    <Badge miw="max-content" color={COLOURS[status] ?? 'gray'} title={title}>
      {status}
    </Badge>
  );
}
