/**
 * Page of the server's runs (all trials of a plan are one run): table of campaigns; table of queued, running and
 * ended runs with progress and cancel buttons.
 */
import { Button, Group, Progress, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { Link } from 'react-router';

import { useRuns } from '../../api/queries';
import type { Run } from '../../api/types';
import { Empty, Loaded } from '../../components/QueryStates';
import { StatusBadge } from '../../components/StatusBadge';
import { DataTable, type TableColumn, TablePanel } from '../../components/table/DataTable';
import { moment } from '../../format/numbers';
import { CampaignsTable } from './CampaignsTable';
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
      <CampaignsTable />
      <Loaded query={runs} name="Runs">
        {({ runs: all }) =>
          all.length === 0 ? (
            <Empty title="Nothing has run on this server">
              <Link to="/configure">Configure a trial</Link> and run it; it appears here while it waits and
              runs.
            </Empty>
          ) : (
            <TablePanel>
              <DataTable label="Runs" columns={COLUMNS} rows={all} rowKey={({ id }) => id} />
            </TablePanel>
          )
        }
      </Loaded>
    </Stack>
  );
}

const COLUMNS: TableColumn<Run>[] = [
  {
    title: 'State',
    cell: ({ state, verdict, message }) => (
      <StatusBadge status={state} verdict={verdict} title={message || undefined} />
    ),
  },
  {
    title: 'Plan',
    cell: (run) => (
      <>
        <Link to={`/runs/${run.id}`}>{run.plan}</Link> <span className="muted">{whereText(run)}</span>
      </>
    ),
  },
  { title: 'Progress', width: 220, cell: (run) => <RunProgress run={run} /> },
  { title: 'Trials', cell: doneText },
  { title: 'Requested', className: 'num', cell: ({ created_at }) => moment(created_at) },
  { title: 'Ended', className: 'num', cell: ({ ended_at }) => moment(ended_at) },
  { title: '', key: 'actions', label: 'Actions', cell: (run) => <CancelButton run={run} /> },
];

function RunProgress({ run }: { run: Run }) {
  if (run.state === 'queued') {
    return (
      <Text size="xs" className="muted" style={{ whiteSpace: 'normal' }}>
        {waitText(run)}
      </Text>
    );
  }
  const percent = run.state === 'complete' ? 100 : (run.progress?.share ?? 0) * 100;
  return <Progress value={percent} size="sm" aria-label={`${percent.toFixed(0)} %`} />;
}
