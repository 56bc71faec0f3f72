/**
 * Panel that selects where a plan runs (its backend or a file of hosts) and whether the simulator predicts each
 * trial, with states and problems of the hosts.
 */
import { Alert, Badge, Checkbox, Group, Select, Text } from '@mantine/core';

import { useHosts } from '../../api/queries';
import type { HostsFile } from '../../api/types';
import { useSearch } from '../../components/useSearch';
import { COLOURS, failedChecks } from '../../format/hosts';
import { runTargetOf, targetChoices } from './runTarget';

export function RunTargetPanel({ backend }: { backend: string | undefined }) {
  const { search, change } = useSearch();
  const target = runTargetOf(search);
  const files = useHosts().data?.files ?? [];
  if (files.length === 0 && target.hosts === null) return null;
  const selected = files.find(({ name }) => name === target.hosts);
  return (
    <section className="panel" style={{ padding: '8px 12px' }} aria-label="Where to run">
      <Group gap="md">
        <Select
          id="field-hosts"
          aria-label="Where to run"
          w={300}
          data={targetChoices(files, target, backend)}
          value={target.hosts ?? ''}
          allowDeselect={false}
          onChange={(hosts) => change({ hosts, ...(hosts ? {} : { twin: null }) })}
        />
        <Checkbox
          label="With a prediction"
          disabled={target.hosts === null}
          checked={target.twin}
          onChange={(event) => change({ twin: event.currentTarget.checked ? 'true' : null })}
        />
      </Group>
      {selected === undefined ? null : <HostStates file={selected} />}
    </section>
  );
}

/** State of each host, and the problems that prevent a run. */
function HostStates({ file }: { file: HostsFile }) {
  const problems = file.hosts.flatMap((host) =>
    failedChecks(host)
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
      {problems.length === 0 ? null : (
        <Alert color="red" variant="light" mt={6} p="xs">
          {problems.map(({ host, check, found, hint }) => (
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
