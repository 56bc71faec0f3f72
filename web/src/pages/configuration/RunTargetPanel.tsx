import { Alert, Badge, Checkbox, Group, Select, Text } from '@mantine/core';

import { useHosts } from '../../api/queries';
import type { HostsFile } from '../../api/types';
import { useSearch } from '../../components/useSearch';
import { COLOURS, concerns } from '../../format/hosts';
import { choices, whereOf } from './runTarget';

/** The choice of what carries the plan out, with the state of the hosts. */
export function WhereToRun({ backend }: { backend: string | undefined }) {
  const { search, change } = useSearch();
  const where = whereOf(search);
  const files = useHosts().data?.files ?? [];
  if (files.length === 0 && where.hosts === null) return null;
  const chosen = files.find(({ name }) => name === where.hosts);
  return (
    <section className="panel" style={{ padding: '8px 12px' }} aria-label="Where to run">
      <Group gap="md">
        <Select
          id="field-hosts"
          aria-label="Where to run"
          w={300}
          data={choices(files, where, backend)}
          value={where.hosts ?? ''}
          allowDeselect={false}
          onChange={(hosts) => change({ hosts, ...(hosts ? {} : { twin: null }) })}
        />
        <Checkbox
          label="Prediction beside it"
          disabled={where.hosts === null}
          checked={where.twin}
          onChange={(event) => change({ twin: event.currentTarget.checked ? 'true' : null })}
        />
      </Group>
      {chosen === undefined ? null : <States file={chosen} />}
    </section>
  );
}

/** The state of each host, and what would refuse a run. */
function States({ file }: { file: HostsFile }) {
  const wrong = file.hosts.flatMap((host) =>
    concerns(host)
      .filter(({ state }) => state === 'problem')
      .map((check) => ({ host: host.name, ...check })),
  );
  return (
    <>
      <Group gap={6} mt={6}>
        {file.hosts.map((host) => (
          <Badge key={host.name} color={COLOURS[host.state]} title={host.agent} tt="none">
            {host.name} {host.state}
          </Badge>
        ))}
      </Group>
      {wrong.length === 0 ? null : (
        <Alert color="red" variant="light" mt={6} p="xs">
          {wrong.map(({ host, check, found, hint }) => (
            <Text size="xs" key={`${host} ${check}`}>
              {host}, {check}: {found}
              {hint === '' ? '' : ` – ${hint}`}
            </Text>
          ))}
        </Alert>
      )}
    </>
  );
}
