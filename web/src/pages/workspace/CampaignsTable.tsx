/**
 * Table of the workspace's ten newest campaigns (trials of many plans and parameter values): state, completed work,
 * trials, failures, time left.
 */
import { Progress, Text } from '@mantine/core';
import { Link } from 'react-router';

import { useCampaigns } from '../../api/queries';
import type { Campaign } from '../../api/types';
import { StatusBadge } from '../../components/StatusBadge';
import { DataTable, type TableColumn, TablePanel } from '../../components/table/DataTable';
import { counted, duration, moment } from '../../format/numbers';
import { endedText } from '../run/runText';

/** Greatest number of campaigns shown, the newest first. */
const SHOWN = 10;

export function CampaignsTable() {
  const campaigns = useCampaigns().data?.campaigns ?? [];
  if (campaigns.length === 0) return null;
  return (
    <TablePanel>
      <DataTable
        label="Campaigns"
        columns={COLUMNS}
        rows={campaigns.slice(0, SHOWN)}
        rowKey={({ name }) => name}
      />
    </TablePanel>
  );
}

const COLUMNS: TableColumn<Campaign>[] = [
  { title: 'State', cell: ({ state }) => <StatusBadge status={state} /> },
  { title: 'Campaign', cell: ({ name }) => <Link to={`/campaigns/${name}`}>{name}</Link> },
  { title: 'Estimated work', width: 220, cell: (campaign) => <Work campaign={campaign} /> },
  { title: 'Trials', cell: endedText },
  { title: 'Failed', className: 'num', cell: ({ failed }) => counted(failed) },
  { title: 'Left', className: 'num', cell: ({ left_s }) => duration(left_s) },
  { title: 'As of', className: 'num', cell: ({ noted_at }) => moment(noted_at) },
];

function Work({ campaign: { percent, waits } }: { campaign: Campaign }) {
  return (
    <>
      <Progress value={percent} size="sm" aria-label={`${percent.toFixed(0)} %`} />
      {waits !== '' && (
        <Text size="xs" className="muted" style={{ whiteSpace: 'normal' }}>
          Waiting: {waits}
        </Text>
      )}
    </>
  );
}
