/**
 * View "Port map" of a trial: for each rank its port, switch port, addresses, queue pairs and DSCP; links to the
 * complete CSV and Parquet files.
 */
import { Anchor, Group, Stack, Text } from '@mantine/core';

import { path } from '../../api/client';
import { usePortMap } from '../../api/queries';
import type { PortMapPage, TrialDetail } from '../../api/types';
import { Loaded } from '../../components/QueryStates';
import { DataTable, type TableColumn, TablePanel } from '../../components/table/DataTable';
import { counted } from '../../format/numbers';

/** Files with all rows, and the titles of their links. */
const FILES = [
  ['port_map.csv', 'Port map CSV'],
  ['queue_pairs.csv', 'Queue pairs CSV'],
  ['queue_pairs.parquet', 'Queue pairs Parquet'],
] as const;

export function PortMapView({ trial }: { trial: TrialDetail }) {
  const ports = usePortMap(trial.id);
  return (
    <Loaded query={ports} name="Port map">
      {(page) => <PortTable trial={trial.id} page={page} />}
    </Loaded>
  );
}

function PortTable({ trial, page }: { trial: string; page: PortMapPage }) {
  const rows = page.cells.length;
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Text size="sm" className="muted" role="status">
          {rows < page.total
            ? `The first ${counted(rows)} of ${counted(page.total)} rows`
            : `${counted(rows)} rows`}
        </Text>
        <Group gap="sm">
          {FILES.map(([file, title]) => (
            <Anchor key={file} size="sm" href={path('trials', trial, 'downloads', file)} download>
              {title}
            </Anchor>
          ))}
        </Group>
      </Group>
      <TablePanel>
        <DataTable
          label="Port map"
          columns={page.columns.map(
            ({ name, title, is_number }, column): TableColumn<PortMapPage['cells'][number]> => ({
              title,
              key: name,
              right: is_number,
              cell: (cells) => <span style={{ whiteSpace: 'nowrap' }}>{cells[column]}</span>,
            }),
          )}
          rows={page.cells}
        />
      </TablePanel>
      <Text size="sm" className="muted">
        {page.about}
      </Text>
    </Stack>
  );
}
