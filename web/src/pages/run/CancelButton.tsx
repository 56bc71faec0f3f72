import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';

import { useRunAction } from '../../api/queries';
import type { Run } from '../../api/types';
import { problemText } from '../../components/QueryStates';

/** Cancels what waits or runs; takes up again what was cancelled or interrupted. */
export function CancelButton({ run }: { run: Run }) {
  const action = useRunAction(run.id);
  const act = (what: 'cancel' | 'resume') =>
    action.mutate(what, {
      onError: (error) => notifications.show({ color: 'red', message: problemText(error).message }),
    });
  if (run.state === 'queued' || run.state === 'running') {
    return (
      <Button variant="default" color="red" loading={action.isPending} onClick={() => act('cancel')}>
        Cancel
      </Button>
    );
  }
  if (run.state === 'complete') return null;
  return (
    <Button variant="default" loading={action.isPending} onClick={() => act('resume')}>
      Resume
    </Button>
  );
}
