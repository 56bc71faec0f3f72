/** The port map of a trial: chassis, port and switch port of each rank, addresses, queue pairs and DSCP. */
import { Anchor, Group, Stack, Text } from '@mantine/core';

import { path } from '../../api/client';
import { usePortMap } from '../../api/queries';
import type { PortMapPage, TrialDetail } from '../../api/types';
import { Loaded } from '../../components/Loaded';
import { counted } from '../../format/numbers';

/** Files with all rows, by what their links are called. */
const FILES = [
  ['port_map.csv', 'Port map CSV'],
  ['queue_pairs.csv', 'Queue pairs CSV'],
  ['queue_pairs.parquet', 'Queue pairs Parquet'],
] as const;

export function PortMapView({ trial }: { trial: TrialDetail }) {
  const ports = usePortMap(trial.id);
  return (
    <Loaded query={ports} what="Port map">
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
      <section className="panel" style={{ overflowX: 'auto' }}>
        <table className="plain" aria-label="Port map">
          <thead>
            <tr>
              {page.columns.map(({ name, title, is_number }) => (
                <th key={name} className={is_number ? 'right' : undefined}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {page.cells.map((cells, row) => (
              <tr key={row}>
                {page.columns.map(({ name, is_number }, column) => (
                  <td key={name} className={is_number ? 'right' : undefined} style={{ whiteSpace: 'nowrap' }}>
                    {cells[column]}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <Text size="sm" className="muted">
        {page.about}
      </Text>
    </Stack>
  );
}
