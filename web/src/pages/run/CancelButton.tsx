/** Button that cancels a queued or running run, or resumes a cancelled, failed or interrupted one. */
import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';

import { useRunAction } from '../../api/queries';
import type { Run } from '../../api/types';
import { problemText } from '../../components/QueryStates';

export function CancelButton({ run }: { run: Run }) {
  const action = useRunAction(run.id);
  const send = (name: 'cancel' | 'resume') =>
    action.mutate(name, {
      onError: (error) => notifications.show({ color: 'red', message: problemText(error).message }),
    });
  if (run.state === 'queued' || run.state === 'running') {
    return (
      <Button variant="default" color="red" loading={action.isPending} onClick={() => send('cancel')}>
        Cancel
      </Button>
    );
  }
  if (run.state === 'complete') return null;
  return (
    <Button variant="default" loading={action.isPending} onClick={() => send('resume')}>
      Resume
    </Button>
  );
}
