/**
 * Page of one run (all trials of a plan), whatever started it: the question in its title, answer, results over what
 * differs between its trials, and all results in a folded table. While it runs: progress, live charts, results so far.
 */
import { Alert, Button, Group, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { IconArrowsDiff, IconDownload, IconPencil } from '@tabler/icons-react';
import { useEffect } from 'react';
import { Link, useParams } from 'react-router';

import { path, query } from '../../api/client';
import { type Live, useRunEvents } from '../../api/events';
import { FINAL_STATES, useRefreshing, useRun, useRunResults } from '../../api/queries';
import type { ResultsOfRun, RunDetail, RunTrial, SearchedCase } from '../../api/types';
import { Empty, Loaded } from '../../components/QueryStates';
import { StatusBadge } from '../../components/StatusBadge';
import { DataTable, type TableColumn, TablePanel } from '../../components/table/DataTable';
import { TwinTables } from '../../components/TwinTables';
import { WorkProgress } from '../../components/WorkProgress';
import { caseText } from '../../format/sweep';
import { dataSize, duration, moment, short, simulatedTime } from '../../format/numbers';
import { CancelButton } from './CancelButton';
import { LiveCharts } from './LiveCharts';
import { RunAnswer } from './RunAnswer';
import { RunPictures } from './RunPictures';
import { ResultsTable } from './ResultsTable';
import {
  doneText,
  endText,
  firstTwin,
  isFinished,
  isMeasured,
  takenText,
  waitText,
  whereText,
} from './runText';

export function Component() {
  const { id = '' } = useParams();
  const run = useRun(id);
  useDocumentTitle(run.data ? `${run.data.plan}, ${run.data.state} · fabricbench` : 'Run · fabricbench');
  const following = run.data !== undefined && run.data.in_queue && !FINAL_STATES.includes(run.data.state);
  const live = useRunEvents(id, following);
  return (
    <Loaded query={run} name="The run">
      {(data) => <RunBody run={data} live={live} />}
    </Loaded>
  );
}

function RunBody({ run, live }: { run: RunDetail; live: Live }) {
  const active = run.state === 'running' || run.state === 'queued';
  const query = useRunResults(run.id, run.trials_finished, active);
  useFreshFigures(run);
  const twin = firstTwin(run);
  return (
    <Stack gap="sm">
      <Header run={run} results={query.data} />
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
      {run.in_queue && run.state !== 'complete' ? <ProgressPanel run={run} live={live} /> : null}
      {run.in_queue && (run.state === 'running' || (run.state !== 'complete' && live.trial !== null)) ? (
        <LiveCharts live={live} isMeasured={isMeasured(run, live.trial)} />
      ) : null}
      <SearchResults cases={run.search ?? []} />
      <Loaded query={query} name="The results">
        {(results) => <Results run={run} results={results} active={active} />}
      </Loaded>
      {twin === null ? null : <TwinTables trial={twin} />}
      <UnfinishedTrials run={run} />
    </Stack>
  );
}

function Results({ run, results, active }: { run: RunDetail; results: ResultsOfRun; active: boolean }) {
  if (results.total === 0) {
    return active ? null : <Empty title="No results">None of its trials has finished.</Empty>;
  }
  return (
    <>
      <RunAnswer results={results} />
      <RunPictures results={results} />
      <ResultsTable results={results} isOpen={results.total <= SHOWN_OPEN || run.backend === 'imported'} />
    </>
  );
}

/** Greatest number of results whose table is open at first. */
const SHOWN_OPEN = 8;

/** Requests figures and comparisons again after each trial and at the end. */
function useFreshFigures({ trials_finished, state }: RunDetail) {
  const { figures } = useRefreshing();
  useEffect(() => figures(), [figures, trials_finished, state]);
}

function Header({ run, results }: { run: RunDetail; results: ResultsOfRun | undefined }) {
  const focus = results?.focus ?? null;
  const variants = new Set(run.trials.map(({ variant }) => variant)).size > 1;
  const facts = [
    whereText(run) === '' ? run.backend : whereText(run),
    `${doneText(run)} ${run.trials_total === 1 ? 'trial' : 'trials'}`,
    `started ${moment(run.started_at ?? run.created_at, false)}`,
    takenText(run),
    ...run.tags,
  ];
  return (
    <Group justify="space-between" align="flex-start" wrap="nowrap">
      <div>
        <Group gap="xs">
          <Title order={1}>{questionText(run, results)}</Title>
          <StatusBadge status={endText(run)} verdict={run.verdict} />
        </Group>
        <Text size="sm" className="muted">
          plan <b>{run.plan}</b> · run <span className="mono">{run.id}</span> ·{' '}
          {facts.filter(Boolean).join(' · ')}
        </Text>
      </div>
      <Group gap="xs" wrap="nowrap">
        {run.in_queue ? <CancelButton run={run} /> : null}
        {focus === null ? null : (
          <>
            {variants ? (
              <Button
                component={Link}
                variant="default"
                to={`/compare${query({ trial: focus, by: 'variant' })}`}
                leftSection={<IconArrowsDiff size={14} />}
              >
                Compare variants
              </Button>
            ) : null}
            <Button
              component="a"
              variant="default"
              href={path('trials', focus, 'downloads', 'report.html')}
              download
              leftSection={<IconDownload size={14} />}
            >
              Report
            </Button>
            {run.backend === 'imported' ? null : (
              <Button
                component={Link}
                to={`/configure${query({ trial: focus })}`}
                leftSection={<IconPencil size={14} />}
              >
                Edit plan
              </Button>
            )}
          </>
        )}
      </Group>
    </Group>
  );
}

/** Title of the plan, or what differs between its trials. */
function questionText(run: RunDetail, results: ResultsOfRun | undefined): string {
  return [run.title, results?.question, run.plan].find((text) => text !== undefined && text !== '') ?? '';
}

function ProgressPanel({ run, live }: { run: RunDetail; live: Live }) {
  const progress = live.progress ?? run.progress;
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
      percent={(progress?.share ?? 0) * 100}
      state={run.state}
      figures={figures}
      cols={5}
    />
  );
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
  { title: 'Trial', className: 'mono', cell: ({ id }) => id },
  { title: 'Variant, swept values', cell: (trial) => caseText(trial) || 'base' },
  { title: 'Data size', right: true, cell: ({ data_size_bytes }) => dataSize(data_size_bytes) },
  { title: 'Iteration', right: true, cell: ({ iteration }) => iteration },
];

/** Greatest number of unfinished trials listed. */
const UNFINISHED_MAX = 200;

/** Trials that wait, run or ended without a result. */
function UnfinishedTrials({ run }: { run: RunDetail }) {
  const trials = run.trials.filter((trial) => !isFinished(trial));
  if (trials.length === 0) return null;
  return (
    <TablePanel
      title={`${trials.length} of ${run.trials_total} ${run.trials_total === 1 ? 'trial' : 'trials'} without a result`}
    >
      <DataTable
        label="Trials without a result"
        columns={TRIAL_COLUMNS}
        rows={trials.slice(0, UNFINISHED_MAX)}
        rowKey={({ id }) => id}
      />
    </TablePanel>
  );
}
