/** The hosts of a measured trial: what each is, how sure its clock is, and what its devices counted. */
import { Stack, Text, Title } from '@mantine/core';

import type { EngineHost } from '../../api/types';
import { factName, factText } from '../../format/facts';
import { endpointNames, playsText, SHOWN_FACTS, TIMES, timesOf } from '../../format/hosts';
import { counted, fixed, MISSING, significant } from '../../format/numbers';

export function HostsView({ hosts }: { hosts: EngineHost[] }) {
  return (
    <Stack gap="sm">
      <FactsTable hosts={hosts} />
      <CountersTable hosts={hosts} />
      <EndpointTable hosts={hosts} />
      {hosts.map((host) => (
        <Everything key={host.host} host={host} />
      ))}
    </Stack>
  );
}

function FactsTable({ hosts }: { hosts: EngineHost[] }) {
  return (
    <section className="panel" style={{ overflowX: 'auto' }}>
      <table className="plain" aria-label="Hosts of the trial">
        <thead>
          <tr>
            <th>Host</th>
            <th>Plays</th>
            <th>Data address</th>
            <th>Driver</th>
            {SHOWN_FACTS.map(([name, title]) => (
              <th key={name}>{title}</th>
            ))}
            {TIMES.map(([title]) => (
              <th key={title} className="right">
                {title} (us)
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {hosts.map((host) => (
            <FactsRow key={host.host} host={host} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function FactsRow({ host }: { host: EngineHost }) {
  return (
    <tr>
      <th scope="row" style={{ fontWeight: 400 }}>
        {host.host}
      </th>
      <td className="num">{playsText(host.plays)}</td>
      <td className="mono">{host.address}</td>
      <td>{host.driver}</td>
      {SHOWN_FACTS.map(([name]) => (
        <td key={name}>{host.facts[name] ?? MISSING}</td>
      ))}
      {timesOf(host).map((value, index) => (
        <td key={index} className="right">
          {fixed(value, 1)}
        </td>
      ))}
    </tr>
  );
}

function CountersTable({ hosts }: { hosts: EngineHost[] }) {
  const rows = hosts.flatMap(({ host, counters }) => counters.map((each) => ({ host, ...each })));
  const known = rows.filter(({ counter }) => counter !== null);
  return (
    <section className="panel" style={{ overflowX: 'auto' }}>
      <Title order={2} p="xs">
        Counters of devices that changed
      </Title>
      {known.length === 0 ? (
        <Text size="sm" className="muted" px="xs" pb="xs">
          {rows.length === 0
            ? 'None did.'
            : `None that is known; ${rows.length} under names of their vendors are in the record.`}
        </Text>
      ) : (
        <table className="plain" aria-label="Counters of devices">
          <thead>
            <tr>
              <th>Host</th>
              <th>Device</th>
              <th>Read from</th>
              <th>Counter</th>
              <th className="right">Before</th>
              <th className="right">After</th>
              <th className="right">Change</th>
              <th>Unit</th>
              <th>Its vendor counts</th>
            </tr>
          </thead>
          <tbody>
            {known.map((each) => (
              <tr key={`${each.host} ${each.source ?? ''} ${each.device} ${each.vendor_name}`}>
                <td>{each.host}</td>
                <td>{each.device}</td>
                <td>{each.source ?? MISSING}</td>
                <td>{each.counter}</td>
                <td className="right">{counted(each.before)}</td>
                <td className="right">{counted(each.after)}</td>
                <td className="right">{counted(each.after - each.before)}</td>
                <td>{each.unit ?? MISSING}</td>
                <td className="wrapped">
                  <span className="mono">{each.vendor_name}</span>: {each.meaning ?? MISSING}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function EndpointTable({ hosts }: { hosts: EngineHost[] }) {
  const names = endpointNames(hosts);
  return (
    <section className="panel" style={{ overflowX: 'auto' }}>
      <Title order={2} p="xs">
        Counters of the endpoints
      </Title>
      <table className="plain" aria-label="Counters of the endpoints">
        <thead>
          <tr>
            <th>Counter</th>
            {hosts.map(({ host }) => (
              <th key={host} className="right">
                {host}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {names.map((name) => (
            <tr key={name}>
              <th scope="row" style={{ fontWeight: 400 }}>
                {isTime(name) ? factName(name) : name.replaceAll('_', ' ')}
              </th>
              {hosts.map(({ host, endpoint }) => (
                <td key={host} className="right">
                  {isTime(name) ? factText(name, endpoint[name]) : significant(endpoint[name], 6)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function isTime(name: string): boolean {
  return /_(ns|ps)$/.test(name);
}

/** Every fact and setting of a host, folded away. */
function Everything({ host }: { host: EngineHost }) {
  const settings = Object.entries(host.settings).map(([name, value]) => [`setting ${name}`, String(value)]);
  const all = [['version of its agent', host.version], ...Object.entries(host.facts), ...settings];
  return (
    <details>
      <summary className="muted" style={{ cursor: 'pointer', fontSize: 12 }}>
        facts and settings of {host.host}
      </summary>
      <dl className="facts">
        {all.map(([name, value]) => (
          <div key={name} style={{ display: 'contents' }}>
            <dt>{name?.replaceAll('_', ' ')}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
