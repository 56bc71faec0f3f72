/** Trials side by side: the parameters that differ, and every metric with its ratio to the first. */
import { Group, SegmentedControl, Stack, Switch, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';

import { useComparison } from '../../api/queries';
import type { Comparison } from '../../api/types';
import { Loaded } from '../../components/Loaded';
import { MetricFigure } from '../../components/chart/MetricFigure';
import { Empty } from '../../components/QueryStates';
import { TwinTables } from '../../components/TwinTables';
import { useSearch } from '../../components/useSearch';
import { ComparedTable } from './ComparedTable';
import { SizesTables } from './SizesTables';
import { TrialPicker } from './TrialPicker';
import { groups } from './groups';

/** What can be set side by side, and how many trials name it. */
const WAYS = [
  {
    value: 'trial',
    label: 'Trials',
    least: 2,
    most: 16,
    wanted: 'Choose two trials or more',
    explained: 'Ratios are those to the first. Trials can be chosen here, or in the workspace.',
  },
  {
    value: 'size',
    label: 'Runs by size',
    least: 2,
    most: 2,
    wanted: 'Choose two trials',
    explained: 'The runs that they belong to are compared at every data size that both have.',
  },
  {
    value: 'variant',
    label: 'Variants of a run',
    least: 1,
    most: 1,
    wanted: 'Choose one trial',
    explained: 'The variants of the run that it belongs to are compared with the reference of their plan.',
  },
  {
    value: 'twin',
    label: 'Prediction',
    least: 1,
    most: 1,
    wanted: 'Choose one trial',
    explained: 'The run that it belongs to, measured, is set beside what the simulator predicts of it.',
  },
] as const;

export function Component() {
  useDocumentTitle('Compare · fabricbench');
  const { search, change } = useSearch();
  const ids = search.getAll('trial');
  const way = WAYS.find(({ value }) => value === search.get('by')) ?? WAYS[0];
  const isReady = ids.length >= way.least && ids.length <= way.most;
  const isTwin = way.value === 'twin';
  const by = way.value === 'twin' ? 'trial' : way.value;
  const comparison = useComparison(ids, by, isReady && !isTwin);
  const [first] = ids;
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1}>Compare</Title>
        <Group>
          <SegmentedControl
            aria-label="What is compared"
            data={WAYS.map(({ value, label }) => ({ value, label }))}
            value={way.value}
            onChange={(by) => change({ by: by === 'trial' ? null : by })}
          />
          <Switch
            label="Only what differs"
            disabled={way.value === 'size' || isTwin}
            checked={search.has('differing')}
            onChange={(event) => change({ differing: event.currentTarget.checked ? 'true' : null })}
          />
        </Group>
      </Group>
      <TrialPicker ids={ids} onChange={(trial) => change({ trial })} />
      {isReady && isTwin && first !== undefined ? (
        <TwinTables trial={first} />
      ) : isReady ? (
        <Loaded query={comparison} what="The comparison">
          {(data) => (
            <Stack gap="sm">
              <section className="panel" style={{ padding: '10px 14px' }} aria-label="Over sizes">
                <MetricFigure
                  about={['compare', { trial: ids, by }]}
                  label="compared"
                  metric={search.get('metric')}
                  onMetric={(metric) => change({ metric })}
                />
              </section>
              {way.value === 'size' ? (
                <SizesTables comparison={data} />
              ) : (
                <Compared comparison={data} onlyDiffering={search.has('differing')} />
              )}
            </Stack>
          )}
        </Loaded>
      ) : (
        <Empty title={way.wanted}>{way.explained}</Empty>
      )}
    </Stack>
  );
}

function Compared({ comparison, onlyDiffering }: { comparison: Comparison; onlyDiffering: boolean }) {
  return (
    <Stack gap="sm">
      <Parameters comparison={comparison} />
      <Note text={comparison.note} />
      {groups(comparison).map((group) => (
        <ComparedTable key={group.key} group={group} onlyDiffering={onlyDiffering} />
      ))}
    </Stack>
  );
}

function Note({ text }: { text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <Text size="sm" className="muted">
      {text}
    </Text>
  );
}

function Parameters({ comparison }: { comparison: Comparison }) {
  if (comparison.parameters.length === 0) {
    return (
      <Text size="sm" className="muted">
        No parameter differs.
      </Text>
    );
  }
  return (
    <section className="panel" style={{ overflowX: 'auto' }} aria-label="Parameters that differ">
      <table className="plain">
        <thead>
          <tr>
            <th>Parameter</th>
            {comparison.compared.map((id) => (
              <th key={id} className="mono">
                {id}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {comparison.parameters.map(({ field, values }) => (
            <tr key={field}>
              <th scope="row" className="mono" style={{ fontWeight: 400, verticalAlign: 'top' }}>
                {field}
              </th>
              {comparison.compared.map((id) => (
                <td key={id} className="wrapped">
                  {values[id] ?? '–'}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
