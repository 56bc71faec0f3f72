/** Badge in the header of every page: numbers of running and queued runs, or that the server does not respond. */
import { Badge, Loader } from '@mantine/core';
import { Link } from 'react-router';

import { useRuns } from '../api/queries';

export function ActiveRunsBadge() {
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
