/**
 * Page of the bus bandwidth that a cluster should give: a form (server, number, fabric, collective) whose values are
 * in the URL, the curve with its band, a table with NCCL's choice and the bound at each size, and acceptance limits.
 */
import { Button, Code, Group, NumberInput, Select, Stack, Text, Title } from '@mantine/core';
import { type SubmitEvent, useState } from 'react';

import { type Cluster, useClusterChoices, useExpectedCurve } from '../../api/queries';
import type { ClusterChoices, ExpectedCurve } from '../../api/types';
import { CaptionedChart } from '../../components/chart/Chart';
import { Loaded } from '../../components/QueryStates';
import { useSearch } from '../../components/useSearch';
import { ClusterFields } from './ClusterFields';
import { ExpectedTable } from './ExpectedTable';
import { clusterOf, searchOf } from './cluster';

export function Component() {
  const choices = useClusterChoices();
  const { search, change } = useSearch();
  const cluster = clusterOf(search);
  return (
    <Stack gap="sm">
      <div>
        <Title order={1}>What should my cluster give?</Title>
        <Text size="sm" className="muted" maw={900}>
          Bus bandwidth of NCCL&apos;s collectives on equal GPU servers and a non-blocking fabric, by data
          size, as nccl-tests counts it. Transport is RoCEv2 with DCQCN; hosts are ideal. The curve of 64
          servers takes about a minute.
        </Text>
      </div>
      <Loaded query={choices} name="Choices">
        {(data) => (
          <ClusterForm
            key={search.toString()}
            choices={data}
            start={cluster ?? defaultCluster(data)}
            onSubmit={(next) => change(searchOf(next))}
          />
        )}
      </Loaded>
      {cluster === null ? null : <Curve cluster={cluster} />}
    </Stack>
  );
}

function defaultCluster(choices: ClusterChoices): Cluster {
  return {
    cluster: choices.servers.includes('dgx-h100') ? 'dgx-h100' : (choices.servers[0] ?? ''),
    servers: 64,
    topology: choices.topologies[0] ?? '',
    collective: choices.collectives[0] ?? '',
    seeds: 1,
  };
}

interface FormProps {
  choices: ClusterChoices;
  start: Cluster;
  onSubmit: (cluster: Cluster) => void;
}

function ClusterForm({ choices, start, onSubmit }: FormProps) {
  const [cluster, setCluster] = useState(start);
  const set = (values: Partial<Cluster>) => setCluster({ ...cluster, ...values });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    onSubmit(cluster);
  };
  return (
    <form onSubmit={submit} className="panel" style={{ padding: '10px 14px' }} aria-label="Cluster">
      <Group gap="sm" align="flex-end">
        <ClusterFields choices={choices} cluster={cluster} onChange={set} />
        <Select
          label="Collective"
          data={choices.collectives}
          value={cluster.collective}
          onChange={(collective) => collective !== null && set({ collective })}
          allowDeselect={false}
        />
        <NumberInput
          label="Seeds"
          description="of ECMP hashes"
          w={110}
          min={1}
          max={choices.seeds_max}
          allowDecimal={false}
          value={cluster.seeds}
          onChange={(number) => set({ seeds: Number(number) })}
        />
        <Button type="submit">Show the curve</Button>
      </Group>
    </form>
  );
}

function Curve({ cluster }: { cluster: Cluster }) {
  const query = useExpectedCurve(cluster);
  return (
    <Loaded query={query} name="The curve">
      {(curve) => (
        <>
          <section className="panel" style={{ padding: '10px 14px' }} aria-label="Curve">
            <Title order={2}>{curve.title}</Title>
            <Text size="sm" className="muted">
              {cluster.collective}, {curve.source}
            </Text>
            <CaptionedChart figure={curve.figure} label={`Expected bus bandwidth of ${cluster.collective}`} />
          </section>
          <ExpectedTable curve={curve} />
          <Acceptance curve={curve} />
        </>
      )}
    </Loaded>
  );
}

function Acceptance({ curve }: { curve: ExpectedCurve }) {
  return (
    <section className="panel" style={{ padding: '10px 14px' }} aria-label="Acceptance">
      <Title order={2}>Acceptance</Title>
      <Text size="sm">
        nccl-tests fails below {100 * (1 - curve.allowance)} % of the expected average; start a process for
        each GPU:
      </Text>
      {curve.nccl_tests.map((command) => (
        <Code key={command} block>
          {command}
        </Code>
      ))}
    </section>
  );
}
