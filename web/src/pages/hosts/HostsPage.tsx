/**
 * Page of the hosts that can run plans on a real network: a table per file of hosts with state, ranks, IP address for
 * test traffic, driver, agent, failed checks and facts of each host.
 */
import { Alert, Badge, Stack, Text, Title } from '@mantine/core';

import { useHosts } from '../../api/queries';
import type { HostsFile, HostState } from '../../api/types';
import { FoldedFacts } from '../../components/FactList';
import { Empty, Loaded } from '../../components/QueryStates';
import { DataTable, type TableColumn } from '../../components/table/DataTable';
import { COLOURS, countText, failedChecks, ranksText } from '../../format/hosts';

export function Component() {
  const hosts = useHosts();
  return (
    <Stack gap="sm">
      <Title order={1}>Hosts</Title>
      <Loaded query={hosts} name="Hosts">
        {({ files }) =>
          files.length === 0 ? (
            <Empty title="This server has no hosts">
              Start an agent on each host, write a file of hosts, and pass it to the server:{' '}
              <code>fabricbench serve --hosts hosts.yaml</code>
            </Empty>
          ) : (
            files.map((file) => <FilePanel key={file.name} file={file} />)
          )
        }
      </Loaded>
    </Stack>
  );
}

function FilePanel({ file }: { file: HostsFile }) {
  return (
    <section className="panel" style={{ overflowX: 'auto' }} aria-label={file.name}>
      <Title order={2} size="h5" px="sm" pt={8}>
        {file.name}
      </Title>
      {file.error ? (
        <Alert color="red" variant="light" m="sm" title="The file of hosts cannot be read">
          <Text size="sm" style={{ whiteSpace: 'pre-line' }}>
            {file.error}
          </Text>
        </Alert>
      ) : (
        <>
          <Text size="xs" className="muted" px="sm" pb={6} role="status">
            {countText(file.hosts)}
            {file.tls === false ? '; without TLS, on this machine only' : ''}
          </Text>
          <DataTable
            label={`Hosts of ${file.name}`}
            columns={COLUMNS}
            rows={file.hosts}
            rowKey={nameOf}
            top
          />
        </>
      )}
    </section>
  );
}

const nameOf = ({ name }: HostState) => name;

const COLUMNS: TableColumn<HostState>[] = [
  { title: 'State', width: 96, cell: ({ state }) => <Badge color={COLOURS[state]}>{state}</Badge> },
  { title: 'Host', cell: nameOf },
  { title: 'Ranks', className: 'num', cell: ({ plays }) => ranksText(plays) },
  { title: 'Data address', className: 'mono', cell: ({ address }) => address },
  { title: 'Driver', cell: ({ driver }) => driver },
  {
    title: 'Agent',
    cell: ({ agent, version }) => (
      <>
        <span className="mono">{agent}</span>
        {version ? <span className="muted"> {version}</span> : null}
      </>
    ),
  },
  { title: 'Problems and warnings', className: 'wrapped', cell: (host) => <Checks host={host} /> },
];

function Checks({ host }: { host: HostState }) {
  const failed = failedChecks(host);
  return (
    <>
      {failed.map((each) => (
        <Text size="xs" key={each.check} className={each.state === 'problem' ? 'worse' : undefined}>
          {each.check}: {each.found}
          {each.hint ? <span className="muted"> – {each.hint}</span> : null}
        </Text>
      ))}
      {host.state === 'asking' ? (
        <Text size="xs" className="muted">
          its agent has not answered yet
        </Text>
      ) : null}
      {host.checks.length > failed.length ? (
        <FoldedFacts
          summary={`checks and facts of ${host.name}`}
          facts={[
            ...host.checks.map(({ check, found }) => [check, found] as const),
            ...Object.entries(host.facts),
          ]}
        />
      ) : null}
    </>
  );
}
