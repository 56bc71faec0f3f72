/**
 * Page of one run (all trials of a plan): progress, live charts of the current trial or figures of the last finished
 * one, comparison with predictions, results of a parameter search, table of trials, cancel button.
 */
import { Alert, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { Link, useParams } from 'react-router';

import { FINAL_STATES, type Live, useRunEvents } from '../../api/events';
import { useFigures, useRun } from '../../api/queries';
import type { RunDetail, RunTrial, SearchedCase } from '../../api/types';
import { FigurePanel, TimeRangeBar } from '../../components/chart/FigurePanel';
import { Loaded } from '../../components/QueryStates';
import { StatusBadge } from '../../components/StatusBadge';
import { DataTable, type TableColumn, TablePanel } from '../../components/table/DataTable';
import { TwinTables } from '../../components/TwinTables';
import { WorkProgress } from '../../components/WorkProgress';
import { caseText } from '../../format/sweep';
import { dataSize, duration, moment, short, simulatedTime } from '../../format/numbers';
import { CancelButton } from './CancelButton';
import { LiveCharts } from './LiveCharts';
import { doneText, firstTwin, isFinished, isMeasured, lastFinished, waitText, whereText } from './runText';

export function Component() {
  const { id = '' } = useParams();
  const run = useRun(id);
  useDocumentTitle(run.data ? `${run.data.plan}, ${run.data.state} · fabricbench` : 'Run · fabricbench');
  const following = run.data !== undefined && !FINAL_STATES.includes(run.data.state);
  const live = useRunEvents(id, following);
  return (
    <Loaded query={run} name="The run">
      {(data) => <RunBody run={data} live={live} />}
    </Loaded>
  );
}

function RunBody({ run, live }: { run: RunDetail; live: Live }) {
  const active = run.state === 'running';
  const twin = firstTwin(run);
  const recorded = lastFinished(run);
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <div>
          <Group gap="xs">
            <Title order={1}>{run.plan}</Title>
            <StatusBadge status={run.state} verdict={run.verdict} />
          </Group>
          <Text size="sm" className="muted">
            run <span className="mono">{run.id}</span>
            {whereText(run) === '' ? '' : ` · ${whereText(run)}`} · requested {moment(run.created_at)}
            {run.tags.length > 0 ? ` · ${run.tags.join(', ')}` : ''}
          </Text>
        </div>
        <CancelButton run={run} />
      </Group>
      {run.message ? (
        <Alert color={run.state === 'failed' ? 'red' : 'gray'} variant="light">
          {run.message}
        </Alert>
      ) : null}
      {run.state === 'queued' ? (
        <Alert color="gray" variant="light" role="status">
          It {waitText(run)}.
        </Alert>
      ) : null}
      <ProgressPanel run={run} live={live} />
      {active || live.trial !== null ? (
        <LiveCharts live={live} isMeasured={isMeasured(run, live.trial)} />
      ) : recorded !== null ? (
        <RecordedCharts trial={recorded} />
      ) : null}
      {twin === null ? null : <RunTwins trial={twin} finished={run.trials_finished} state={run.state} />}
      <SearchResults cases={run.search ?? []} />
      <RunTrials run={run} />
    </Stack>
  );
}

function ProgressPanel({ run, live }: { run: RunDetail; live: Live }) {
  const progress = live.progress ?? run.progress;
  const fraction = run.state === 'complete' ? 1 : (progress?.share ?? 0);
  const measured = isMeasured(run, live.trial);
  const simulated: [string, string][] = [
    ['Packet-hops', short(progress?.packet_hops)],
    ['Packet-hops per second', short(progress?.hops_per_s)],
  ];
  const figures: [string, string][] = [
    ['Trials done', doneText(run)],
    [measured ? 'Time since its start' : 'Simulated time', simulatedTime(progress?.sim_ps)],
    ...(measured ? [] : simulated),
    ['Time left, estimated', run.state === 'running' ? duration(progress?.left_s) : '–'],
  ];
  return (
    <WorkProgress
      label="Completed percentage of the work"
      percent={fraction * 100}
      state={run.state}
      figures={figures}
      cols={5}
    />
  );
}

/** Figures over time of a finished trial; none if its plan samples no port. */
function RecordedCharts({ trial }: { trial: string }) {
  const figures = useFigures(trial).data?.figures ?? [];
  const overTime = figures.filter(({ section }) => section === 'series');
  return (
    <>
      <TimeRangeBar />
      <SimpleGrid cols={2} spacing={12}>
        {overTime.map((figure) => (
          <FigurePanel key={figure.name} trial={trial} figure={figure} jobs={[]} />
        ))}
      </SimpleGrid>
    </>
  );
}

/** Measured trials with predictions, refreshed after each trial and at the end. */
function RunTwins({ trial, finished, state }: { trial: string; finished: number; state: string }) {
  const client = useQueryClient();
  useEffect(() => {
    for (const key of ['compare', 'figures', 'figure']) void client.invalidateQueries({ queryKey: [key] });
  }, [client, finished, state]);
  return <TwinTables trial={trial} />;
}

/** Result of the plan's search for each variant, size and combination of swept values. */
function SearchResults({ cases }: { cases: SearchedCase[] }) {
  const [first] = cases;
  if (first === undefined) return null;
  const columns: (TableColumn<SearchedCase> | null)[] = [
    cases.some((each) => caseText(each) !== '')
      ? { title: 'Variant, swept values', cell: (each) => caseText(each) || 'base' }
      : null,
    cases.some((each) => each.data_size_bytes !== null)
      ? { title: 'Data size', right: true, cell: (each) => dataSize(each.data_size_bytes) }
      : null,
    {
      title: 'Holds',
      right: true,
      cell: ({ holds }) => holds ?? <span className="worse">none</span>,
    },
    { title: 'Does not', right: true, cell: ({ fails }) => fails ?? '–' },
    { title: 'Values tried', right: true, cell: ({ tried }) => tried },
  ];
  return (
    <TablePanel title={`The ${first.find} ${first.field} for which the criteria hold`}>
      <DataTable
        label="Results of the search"
        columns={columns.filter((each) => each !== null)}
        rows={cases}
      />
    </TablePanel>
  );
}

const TRIAL_COLUMNS: TableColumn<RunTrial>[] = [
  { title: 'Status', cell: ({ status, verdict }) => <StatusBadge status={status} verdict={verdict} /> },
  {
    title: 'Trial',
    className: 'mono',
    cell: (trial) => (isFinished(trial) ? <Link to={`/trials/${trial.id}`}>{trial.id}</Link> : trial.id),
  },
  { title: 'Backend', cell: ({ backend }) => backend },
  { title: 'Variant, swept values', cell: (trial) => caseText(trial) || 'base' },
  { title: 'Data size', right: true, cell: ({ data_size_bytes }) => dataSize(data_size_bytes) },
  { title: 'Iteration', right: true, cell: ({ iteration }) => iteration },
];

function RunTrials({ run }: { run: RunDetail }) {
  const columns = TRIAL_COLUMNS.filter(({ title }) => run.twin || title !== 'Backend');
  return (
    <TablePanel>
      <DataTable label="Trials of the run" columns={columns} rows={run.trials} rowKey={({ id }) => id} />
    </TablePanel>
  );
}
