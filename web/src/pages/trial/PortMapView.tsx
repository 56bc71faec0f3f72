/**
 * View "Port map" of a trial: for each rank its port, switch port, addresses, queue pairs and DSCP; links to the
 * complete CSV and Parquet files. The URL may select a port.
 */
import { Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { Link } from 'react-router';

import { path } from '../../api/client';
import { usePortMap } from '../../api/queries';
import type { PortMapPage, TrialDetail } from '../../api/types';
import { Loaded } from '../../components/QueryStates';
import { DataTable, type TableColumn, TablePanel } from '../../components/table/DataTable';
import { useSearch } from '../../components/useSearch';
import { counted } from '../../format/numbers';
import { countersAddress } from './locations';

/** Files with all rows, and the titles of their links. */
const FILES = [
  ['port_map.csv', 'Port map CSV'],
  ['queue_pairs.csv', 'Queue pairs CSV'],
  ['queue_pairs.parquet', 'Queue pairs Parquet'],
] as const;

export function PortMapView({ trial }: { trial: TrialDetail }) {
  const { search, change } = useSearch();
  const at = search.get('at');
  const ports = usePortMap(trial.id, at);
  return (
    <Loaded query={ports} name="Port map">
      {(page) => (
        <Stack gap="xs">
          {at === null ? null : (
            <SelectedPort trial={trial.id} at={at} page={page} onAll={() => change({ at: null })} />
          )}
          <PortTable trial={trial.id} page={page} />
        </Stack>
      )}
    </Loaded>
  );
}

interface SelectedProps {
  trial: string;
  /** Port of the URL, such as `leaf0 port 3`. */
  at: string;
  page: PortMapPage;
  onAll: () => void;
}

/** Ranks at the port that the URL names, with a link to its counters. */
function SelectedPort({ trial, at, page, onAll }: SelectedProps) {
  const ranks = page.selected.map((index) => page.ports[index]).filter((row) => row !== undefined);
  const names = ranks.map(({ job, rank }) => `rank ${rank} of ${job}`);
  return (
    <Group className="panel" px="sm" py={6} gap="sm">
      <Text size="sm">
        {at}: {names.length === 0 ? 'no rank is at this port' : names.join(', ')}
      </Text>
      <Link to={countersAddress(trial, at)}>Counters of the port</Link>
      <Button variant="default" onClick={onAll}>
        Clear selection
      </Button>
    </Group>
  );
}

function PortTable({ trial, page }: { trial: string; page: PortMapPage }) {
  const rows = page.cells.length;
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'center' });
  }, [page]);
  return (
    <Stack gap="xs" ref={box}>
      <Group justify="space-between">
        <Text size="sm" className="muted" role="status">
          {rows < page.total
            ? `Rows ${counted(page.offset + 1)} to ${counted(page.offset + rows)} of ${counted(page.total)}`
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
              cell: (cells) => cells[column],
            }),
          )}
          rows={page.cells}
          selected={page.selected}
        />
      </TablePanel>
      <Text size="sm" className="muted">
        {page.about}
      </Text>
    </Stack>
  );
}
