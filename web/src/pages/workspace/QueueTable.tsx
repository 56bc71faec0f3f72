/**
 * Table of the runs in the server's queue that are not complete: waiting and running ones with their progress, and
 * those that can be resumed.
 */
import { Progress, Text } from '@mantine/core';
import { Link } from 'react-router';

import { useRuns } from '../../api/queries';
import type { Run } from '../../api/types';
import { StatusBadge } from '../../components/StatusBadge';
import { DataTable, type TableColumn, TablePanel } from '../../components/table/DataTable';
import { moment } from '../../format/numbers';
import { CancelButton } from '../run/CancelButton';
import { doneText, waitText, whereText } from '../run/runText';

/** Greatest number of runs shown, the newest first. */
const SHOWN = 10;

export function QueueTable() {
  const runs = useRuns().data?.runs.filter(({ state }) => state !== 'complete') ?? [];
  if (runs.length === 0) return null;
  return (
    <TablePanel title="Queue">
      <DataTable label="Queue" columns={COLUMNS} rows={runs.slice(0, SHOWN)} rowKey={({ id }) => id} />
    </TablePanel>
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
  const percent = (run.progress?.share ?? 0) * 100;
  return <Progress value={percent} size="sm" aria-label={`${percent.toFixed(0)} %`} />;
}
