/** The hosts that plans can be run on: what their agents say, and what stands in the way of a run. */
import { Alert, Badge, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';

import { useHosts } from '../../api/queries';
import type { HostsFile, HostState } from '../../api/types';
import { Loaded } from '../../components/Loaded';
import { Empty } from '../../components/QueryStates';
import { COLOURS, concerns, countText, playsText } from '../../format/hosts';

export function Component() {
  useDocumentTitle('Hosts · fabricbench');
  const hosts = useHosts();
  return (
    <Stack gap="sm">
      <Title order={1}>Hosts</Title>
      <Loaded query={hosts} what="Hosts">
        {({ files }) =>
          files.length === 0 ? (
            <Empty title="This server has no hosts">
              Start an agent on each host, write a file of hosts, and name it to the server:{' '}
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
        <Alert color="red" variant="light" m="sm" title="Its hosts cannot be asked">
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
          <HostTable file={file} />
        </>
      )}
    </section>
  );
}

function HostTable({ file }: { file: HostsFile }) {
  return (
    <table className="plain" aria-label={`Hosts of ${file.name}`}>
      <thead>
        <tr>
          <th style={{ minWidth: 96 }}>State</th>
          <th>Host</th>
          <th>Plays</th>
          <th>Data address</th>
          <th>Driver</th>
          <th>Agent</th>
          <th>What stands in the way</th>
        </tr>
      </thead>
      <tbody>
        {file.hosts.map((host) => (
          <tr key={host.name} style={{ verticalAlign: 'top' }}>
            <td>
              <Badge color={COLOURS[host.state]}>{host.state}</Badge>
            </td>
            <td>{host.name}</td>
            <td className="num">{playsText(host.plays)}</td>
            <td className="mono">{host.address}</td>
            <td>{host.driver}</td>
            <td>
              <span className="mono">{host.agent}</span>
              {host.version ? <span className="muted"> {host.version}</span> : null}
            </td>
            <td style={{ whiteSpace: 'normal', minWidth: 320 }}>
              <Concerns host={host} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Concerns({ host }: { host: HostState }) {
  const found = concerns(host);
  return (
    <>
      {found.map((each) => (
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
      {host.checks.length > found.length ? <Everything host={host} /> : null}
    </>
  );
}

/** Every check and fact of a host, folded away. */
function Everything({ host }: { host: HostState }) {
  return (
    <details>
      <summary className="muted" style={{ cursor: 'pointer', fontSize: 12 }}>
        checks and facts of {host.name}
      </summary>
      <dl className="facts">
        {host.checks.map(({ check, found }) => (
          <Fact key={`check ${check}`} name={check} value={found} />
        ))}
        {Object.entries(host.facts).map(([name, value]) => (
          <Fact key={name} name={name.replaceAll('_', ' ')} value={value} />
        ))}
      </dl>
    </details>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}
