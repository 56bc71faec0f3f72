import { Badge, Loader } from '@mantine/core';
import { Link } from 'react-router';

import { useRuns } from '../api/queries';

/** How many runs are at work or wait, on every page; and whether the server still answers. */
export function RunningNow() {
  const query = useRuns();
  if (query.isError) {
    return (
      <Badge color="red" role="alert">
        The server does not answer
      </Badge>
    );
  }
  const runs = query.data?.runs ?? [];
  const running = runs.filter((run) => run.state === 'running').length;
  const queued = runs.filter((run) => run.state === 'queued').length;
  if (running + queued === 0) return null;
  const text = [running > 0 ? `${running} running` : '', queued > 0 ? `${queued} queued` : ''];
  return (
    <Badge
      component={Link}
      to="/runs"
      color="blue"
      style={{ cursor: 'pointer' }}
      leftSection={running > 0 ? <Loader size={10} /> : null}
    >
      {text.filter(Boolean).join(', ')}
    </Badge>
  );
}
