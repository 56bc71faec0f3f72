/** What runs, what waits, and what ran. */
import { Button, Group, Progress, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { Link } from 'react-router';

import { useRuns } from '../../api/queries';
import type { Run } from '../../api/types';
import { Loaded } from '../../components/Loaded';
import { Empty } from '../../components/QueryStates';
import { StatusBadge } from '../../components/StatusBadge';
import { moment } from '../../format/numbers';
import { Campaigns } from './CampaignsTable';
import { CancelButton } from './CancelButton';
import { doneText, waitText, whereText } from './runText';

export function Component() {
  useDocumentTitle('Runs · fabricbench');
  const runs = useRuns();
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1}>Runs</Title>
        <Button component={Link} to="/configure">
          Configure a trial
        </Button>
      </Group>
      <Campaigns />
      <Loaded query={runs} what="Runs">
        {({ runs: all }) =>
          all.length === 0 ? (
            <Empty title="Nothing has run on this server">
              <Link to="/configure">Configure a trial</Link> and run it; it appears here while it waits and
              works.
            </Empty>
          ) : (
            <RunTable runs={all} />
          )
        }
      </Loaded>
    </Stack>
  );
}

function RunTable({ runs }: { runs: Run[] }) {
  return (
    <div className="panel" style={{ overflowX: 'auto' }}>
      <table className="plain" aria-label="Runs">
        <thead>
          <tr>
            <th>State</th>
            <th>Plan</th>
            <th style={{ width: 220 }}>Progress</th>
            <th>Trials</th>
            <th>Asked for</th>
            <th>Ended</th>
            <th aria-label="Actions" />
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.id}>
              <td>
                <StatusBadge status={run.state} verdict={run.verdict} title={run.message || undefined} />
              </td>
              <td>
                <Link to={`/runs/${run.id}`}>{run.plan}</Link> <span className="muted">{whereText(run)}</span>
              </td>
              <td>
                <Share run={run} />
              </td>
              <td>{doneText(run)}</td>
              <td className="num">{moment(run.created_at)}</td>
              <td className="num">{moment(run.ended_at)}</td>
              <td>
                <CancelButton run={run} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Share({ run }: { run: Run }) {
  if (run.state === 'queued') {
    return (
      <Text size="xs" className="muted" style={{ whiteSpace: 'normal' }}>
        {waitText(run)}
      </Text>
    );
  }
  const share = run.state === 'complete' ? 100 : (run.progress?.share ?? 0) * 100;
  return <Progress value={share} size="sm" aria-label={`${share.toFixed(0)} %`} />;
}
