/**
 * View "Hosts" of a trial measured on hosts: hosts with facts and clock errors; device counters that changed;
 * counters of the endpoints that send and receive the data; all facts and settings of each host.
 */
import { Stack, Text } from '@mantine/core';

import type { EngineHost, HostCounter } from '../../api/types';
import { FoldedFacts } from '../../components/FactList';
import { DataTable, type TableColumn, TablePanel } from '../../components/table/DataTable';
import { factName, factText } from '../../format/facts';
import { endpointNames, ranksText, SHOWN_FACTS, TIMES } from '../../format/hosts';
import { counted, fixed, MISSING, significant } from '../../format/numbers';

export function HostsView({ hosts }: { hosts: EngineHost[] }) {
  return (
    <Stack gap="sm">
      <TablePanel>
        <DataTable
          label="Hosts of the trial"
          columns={HOST_COLUMNS}
          rows={hosts}
          rowKey={({ host }) => host}
        />
      </TablePanel>
      <CountersTable hosts={hosts} />
      <EndpointTable hosts={hosts} />
      {hosts.map((host) => (
        <FoldedFacts
          key={host.host}
          summary={`facts and settings of ${host.host}`}
          facts={[
            ['version of its agent', host.version],
            ...Object.entries(host.facts),
            ...Object.entries(host.settings).map(
              ([name, value]) => [`setting ${name}`, String(value)] as const,
            ),
          ]}
        />
      ))}
    </Stack>
  );
}

const HOST_COLUMNS: TableColumn<EngineHost>[] = [
  { title: 'Host', isHeading: true, cell: ({ host }) => host },
  { title: 'Ranks', className: 'num', cell: ({ plays }) => ranksText(plays) },
  { title: 'Data address', className: 'mono', cell: ({ address }) => address },
  { title: 'Driver', cell: ({ driver }) => driver },
  ...SHOWN_FACTS.map(({ name, title }): TableColumn<EngineHost> => ({
    title,
    cell: ({ facts }) => facts[name] ?? MISSING,
  })),
  ...TIMES.map(({ title, microseconds }): TableColumn<EngineHost> => ({
    title: `${title} (us)`,
    right: true,
    cell: (host) => fixed(microseconds(host), 1),
  })),
];

type CounterRow = HostCounter & { host: string };

const COUNTER_COLUMNS: TableColumn<CounterRow>[] = [
  { title: 'Host', cell: ({ host }) => host },
  { title: 'Device', cell: ({ device }) => device },
  { title: 'Read from', cell: ({ source }) => source ?? MISSING },
  { title: 'Counter', cell: ({ counter }) => counter },
  { title: 'Before', right: true, cell: ({ before }) => counted(before) },
  { title: 'After', right: true, cell: ({ after }) => counted(after) },
  { title: 'Change', right: true, cell: ({ before, after }) => counted(after - before) },
  { title: 'Unit', cell: ({ unit }) => unit ?? MISSING },
  {
    title: "Vendor's name and meaning",
    className: 'wrapped',
    cell: ({ vendor_name, meaning }) => (
      <>
        <span className="mono">{vendor_name}</span>: {meaning ?? MISSING}
      </>
    ),
  },
];

function CountersTable({ hosts }: { hosts: EngineHost[] }) {
  const rows: CounterRow[] = hosts.flatMap(({ host, counters }) =>
    counters.map((each) => ({ host, ...each })),
  );
  const named = rows.filter(({ counter }) => counter !== null);
  return (
    <TablePanel title="Counters of devices that changed">
      {named.length === 0 ? (
        <Text size="sm" className="muted" px="xs" pb="xs">
          {rows.length === 0
            ? 'None changed.'
            : `None has a neutral name; ${rows.length} under names of their vendors are in the record.`}
        </Text>
      ) : (
        <DataTable label="Counters of devices" columns={COUNTER_COLUMNS} rows={named} />
      )}
    </TablePanel>
  );
}

function EndpointTable({ hosts }: { hosts: EngineHost[] }) {
  const columns: TableColumn<string>[] = [
    {
      title: 'Counter',
      isHeading: true,
      cell: (name) => (isTime(name) ? factName(name) : name.replaceAll('_', ' ')),
    },
    ...hosts.map(({ host, endpoint }): TableColumn<string> => ({
      title: host,
      right: true,
      cell: (name) => (isTime(name) ? factText(name, endpoint[name]) : significant(endpoint[name], 6)),
    })),
  ];
  return (
    <TablePanel title="Counters of the endpoints">
      <DataTable label="Counters of the endpoints" columns={columns} rows={endpointNames(hosts)} />
    </TablePanel>
  );
}

function isTime(name: string): boolean {
  return /_(ns|ps)$/.test(name);
}
