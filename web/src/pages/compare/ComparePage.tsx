/**
 * Page that compares trials, two runs at each data size, the variants of a run, or a measured run with the
 * simulator's prediction: selection, parameters that differ, chart and tables of metrics with ratios.
 */
import { Group, SegmentedControl, Stack, Switch, Text, Title } from '@mantine/core';

import { useComparedFigure, useComparison, useMetrics } from '../../api/queries';
import type { Comparison, MetricName } from '../../api/types';
import { MetricFigure } from '../../components/chart/MetricFigure';
import { Empty, Loaded } from '../../components/QueryStates';
import { DataTable, type TableColumn } from '../../components/table/DataTable';
import { TwinTables } from '../../components/TwinTables';
import { useSearch } from '../../components/useSearch';
import { ComparedTable } from './ComparedTable';
import { SizesTables } from './SizesTables';
import { TrialPicker } from './TrialPicker';
import { groups } from './groups';

/** Kinds of comparison, each with its number of trials and a hint while another number is selected. */
const MODES = [
  {
    value: 'trial',
    label: 'Trials',
    least: 2,
    most: 16,
    title: 'Select two trials or more',
    hint: 'Ratios are those to the first. Select trials here, or in the list of runs.',
  },
  {
    value: 'size',
    label: 'Runs by size',
    least: 2,
    most: 2,
    title: 'Select two trials',
    hint: 'The runs that they belong to are compared at every data size that both have.',
  },
  {
    value: 'variant',
    label: 'Variants of a run',
    least: 1,
    most: 1,
    title: 'Select one trial',
    hint: 'The variants of the run that it belongs to are compared with the reference of their plan.',
  },
  {
    value: 'twin',
    label: 'Prediction',
    least: 1,
    most: 1,
    title: 'Select one trial',
    hint: "The measured run that it belongs to is compared with the simulator's prediction.",
  },
] as const;

export function Component() {
  const { search, change } = useSearch();
  const ids = search.getAll('trial');
  const mode = MODES.find(({ value }) => value === search.get('by')) ?? MODES[0];
  const isReady = ids.length >= mode.least && ids.length <= mode.most;
  const isTwin = mode.value === 'twin';
  const by = mode.value === 'twin' ? 'trial' : mode.value;
  const comparison = useComparison(ids, by, isReady && !isTwin);
  const [first] = ids;
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1}>Compare</Title>
        <Group>
          <SegmentedControl
            aria-label="Kind of comparison"
            data={MODES.map(({ value, label }) => ({ value, label }))}
            value={mode.value}
            onChange={(by) => change({ by: by === 'trial' ? null : by })}
          />
          <Switch
            label="Only differences"
            disabled={mode.value === 'size' || isTwin}
            checked={search.has('differing')}
            onChange={(event) => change({ differing: event.currentTarget.checked ? 'true' : null })}
          />
        </Group>
      </Group>
      <TrialPicker ids={ids} onChange={(trial) => change({ trial })} />
      {isReady && isTwin && first !== undefined ? (
        <TwinTables trial={first} />
      ) : isReady ? (
        <Loaded query={comparison} name="The comparison">
          {(data) => (
            <Stack gap="sm">
              <section className="panel" style={{ padding: '10px 14px' }} aria-label="Over sizes">
                <Figure trials={ids} by={by} />
              </section>
              {mode.value === 'size' ? (
                <SizesTables comparison={data} />
              ) : (
                <Compared comparison={data} onlyDiffering={search.has('differing')} />
              )}
            </Stack>
          )}
        </Loaded>
      ) : (
        <Empty title={mode.title}>{mode.hint}</Empty>
      )}
    </Stack>
  );
}

function Figure({ trials, by }: { trials: string[]; by: 'trial' | 'size' | 'variant' }) {
  const { search, change } = useSearch();
  const query = useComparedFigure({ trial: trials, by, metric: search.get('metric') as MetricName | null });
  return <MetricFigure query={query} label="compared" onMetric={(metric) => change({ metric })} />;
}

function Compared({ comparison, onlyDiffering }: { comparison: Comparison; onlyDiffering: boolean }) {
  const metrics = useMetrics();
  const ofFabric = new Set(metrics.filter(({ scope }) => scope === 'run').map(({ name }) => name));
  return (
    <Stack gap="sm">
      <Parameters comparison={comparison} />
      <Note text={comparison.note} />
      {groups(comparison, ofFabric).map((group) => (
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
  const columns: TableColumn<Comparison['parameters'][number]>[] = [
    { title: 'Parameter', isHeading: true, className: 'mono', cell: ({ field }) => field },
    ...comparison.compared.map((id): TableColumn<Comparison['parameters'][number]> => ({
      title: id,
      className: 'wrapped',
      cell: ({ values }) => values[id] ?? '–',
    })),
  ];
  return (
    <section className="panel" style={{ overflowX: 'auto' }} aria-label="Parameters that differ">
      <DataTable columns={columns} rows={comparison.parameters} rowKey={({ field }) => field} top />
    </section>
  );
}
