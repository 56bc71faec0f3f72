/**
 * List of runs (all trials of one plan started together) with sortable columns; each row opens to a table of its
 * trials with selection, metrics and status.
 */
import { ActionIcon, Badge, Button, Group, Table, Text } from '@mantine/core';
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'react-router';

import { type TrialFilter, useMetrics, useRunList, useTrials } from '../../api/queries';
import type { RunListRow, Trial } from '../../api/types';
import { Loaded } from '../../components/QueryStates';
import { StatusBadge } from '../../components/StatusBadge';
import { DataTable, type TableColumn } from '../../components/table/DataTable';
import type { Sorting } from '../../components/table/Grid';
import { ariaSort, SortButton } from '../../components/table/SortButton';
import type { useSearch } from '../../components/useSearch';
import { caseText } from '../../format/sweep';
import { shownJob, worstText } from '../../format/jobs';
import { metricOf, metricText } from '../../format/metrics';
import { counted, dataSize, MISSING, moment } from '../../format/numbers';
import { sortingOf } from './filters';
import { percentRange, sameText, spanText } from './listText';
import { SelectBox, statusBadge, Tags } from './trialColumns';
import type { useSelection } from './useSelection';

/** Greatest number of trials shown below a run; the list of trials has all. */
const TRIALS_SHOWN = 100;

interface RunColumn {
  title: string;
  /** Sort key of the server, if it can sort by the column. */
  sort?: string;
  hint?: string;
  right?: boolean;
  cell: (run: RunListRow) => ReactNode;
}

const COLUMNS: readonly RunColumn[] = [
  {
    title: 'Plan',
    sort: 'plan',
    cell: ({ plan, title, suite }) => (
      <>
        <Link to={`/runs/${suite}`} className="row-link">
          {plan}
        </Link>
        <div className="muted run-title" title={title}>
          {title}
        </div>
      </>
    ),
  },
  {
    title: 'Verdict',
    sort: 'status',
    hint: "How its trials ended, and whether one of them fails the plan's criteria",
    cell: (run) => <States states={run.states} verdict={run.verdict} />,
  },
  { title: 'Trials', right: true, cell: ({ trials }) => counted(trials) },
  { title: 'What differs', cell: (run) => <div className="run-span">{spanText(run)}</div> },
  {
    title: 'Of ideal, %',
    sort: 'ideal_percent',
    hint: 'Least and greatest percentage of the ideal of the complete trials; with several jobs, of the worst job',
    right: true,
    cell: ({ ideal_percent }) => percentRange(ideal_percent),
  },
  {
    title: 'Retained',
    hint: 'The job that loses most to the others: percentage of its bus bandwidth alone',
    cell: (run) => worstText(run) || MISSING,
  },
  { title: 'Tags', cell: ({ tags }) => <Tags tags={tags} /> },
  {
    title: 'Backend',
    sort: 'backend',
    cell: ({ backend, engine_version }) => <span title={`fabricbench ${engine_version}`}>{backend}</span>,
  },
  { title: 'Repeated', cell: (run) => <EarlierRuns run={run} /> },
  { title: 'Took', right: true, cell: took },
  {
    title: 'Started',
    sort: 'started_at',
    cell: ({ started_at }) => moment(started_at, false),
  },
];

interface HeadProps {
  column: RunColumn;
  sorting: Sorting;
  change: Props['change'];
}

function Head({ column: { title, sort, hint, right }, sorting, change }: HeadProps) {
  const order = sort === sorting.key ? sorting.order : null;
  return (
    <Table.Th
      title={hint}
      className={right ? 'right' : undefined}
      aria-sort={sort ? ariaSort(order) : undefined}
    >
      {sort === undefined ? (
        title
      ) : (
        <SortButton title={title} order={order} onSort={(next) => change({ sort, order: next })} />
      )}
    </Table.Th>
  );
}

interface Props extends ReturnType<typeof useSearch> {
  filter: TrialFilter;
  selection: ReturnType<typeof useSelection>;
  list: ReturnType<typeof useRunList>;
}

export function RunList({ filter, selection, search, change, list }: Props) {
  const open = search.getAll('open');
  const runs = list.data?.pages.flatMap((page) => page.runs) ?? [];
  const toggle = (suite: string) =>
    change({ open: open.includes(suite) ? open.filter((each) => each !== suite) : [...open, suite] });
  return (
    <div style={{ overflowX: 'auto' }}>
      <Table aria-label="Runs" verticalSpacing={4} highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            <Table.Th w={34} aria-label="Open" />
            {COLUMNS.map((column) => (
              <Head key={column.title} column={column} sorting={sortingOf(search)} change={change} />
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {runs.map((run) => (
            <Run
              key={run.suite}
              run={run}
              isOpen={open.includes(run.suite)}
              onToggle={() => toggle(run.suite)}
              filter={filter}
              selection={selection}
            />
          ))}
        </Table.Tbody>
      </Table>
      {list.hasNextPage ? (
        <Button
          variant="default"
          mt="xs"
          loading={list.isFetchingNextPage}
          onClick={() => void list.fetchNextPage()}
        >
          More runs
        </Button>
      ) : null}
    </div>
  );
}

interface RunProps {
  run: RunListRow;
  isOpen: boolean;
  onToggle: () => void;
  filter: TrialFilter;
  selection: ReturnType<typeof useSelection>;
}

function Run({ run, isOpen, onToggle, filter, selection }: RunProps) {
  return (
    <>
      <Table.Tr data-key={run.suite}>
        <Table.Td>
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-expanded={isOpen}
            aria-label={`Trials of ${run.plan}, ${moment(run.started_at, false)}`}
            onClick={onToggle}
          >
            {isOpen ? <IconChevronDown size={15} /> : <IconChevronRight size={15} />}
          </ActionIcon>
        </Table.Td>
        {COLUMNS.map(({ title, right, cell }) => (
          <Table.Td key={title} className={right ? 'right' : undefined} style={{ whiteSpace: 'nowrap' }}>
            {cell(run)}
          </Table.Td>
        ))}
      </Table.Tr>
      {isOpen ? <Trials run={run} filter={filter} selection={selection} /> : null}
    </>
  );
}

function States({ states, verdict }: Pick<RunListRow, 'states' | 'verdict'>) {
  const several = Object.keys(states).length > 1;
  return (
    <Group gap={4} wrap="nowrap">
      {Object.entries(states).map(([status, count]) => (
        <Group key={status} gap={2} wrap="nowrap">
          {several ? <Text size="sm">{counted(count)}</Text> : null}
          <StatusBadge status={status as Trial['status']} verdict={verdict} />
        </Group>
      ))}
    </Group>
  );
}

/** Whether the plan has run before and gave the same results. */
function EarlierRuns({ run }: { run: RunListRow }) {
  const { text, isOther } = sameText(run);
  if (text === '') return 'once';
  const label = <Badge color={isOther ? 'orange' : 'gray'}>{text}</Badge>;
  if (run.same_plan_as === null) return label;
  return (
    <Link to={`/runs/${run.same_plan_as}`} title={`Run ${run.same_plan_as}`}>
      {label}
    </Link>
  );
}

/** Job whose metrics a row shows, and the number of jobs. */
function jobText(trial: Trial): string {
  const job = shownJob(trial, trial.jobs);
  if (job === undefined) return MISSING;
  return trial.jobs.length === 1 ? job.job : `${job.job} (1 of ${trial.jobs.length})`;
}

function took({ started_at, ended_at }: RunListRow): string {
  if (ended_at === null) return MISSING;
  const seconds = (Date.parse(ended_at) - Date.parse(started_at)) / 1000;
  return seconds < 60 ? `${seconds.toFixed(1)} s` : `${(seconds / 60).toFixed(1)} min`;
}

function Trials({ run, filter, selection }: Omit<RunProps, 'isOpen' | 'onToggle'>) {
  const trials = useTrials({ ...filter, suite: run.suite, limit: TRIALS_SHOWN });
  const metrics = useMetrics()
    .filter(({ views }) => views.includes('trials-page'))
    .slice(0, 4);
  const columns: TableColumn<Trial>[] = [
    {
      title: '',
      key: 'select',
      label: 'Select',
      width: 34,
      cell: (trial) => <SelectBox trial={trial} selection={selection} />,
    },
    { title: 'Trial', cell: ({ id }) => <Link to={`/trials/${id}`}>{id}</Link> },
    {
      title: 'Variant',
      cell: (trial) => `${caseText(trial) || 'base'}${trial.iteration > 0 ? ` #${trial.iteration}` : ''}`,
    },
    { title: 'Job', cell: jobText },
    { title: 'Data size', right: true, cell: ({ data_size_bytes }) => dataSize(data_size_bytes) },
    ...metrics.map((metric): TableColumn<Trial> => ({
      title: `${metric.label}${metric.unit === '' ? '' : ` [${metric.unit}]`}`,
      hint: metric.title,
      right: true,
      cell: (trial) => {
        const job = shownJob(trial, trial.jobs);
        return job === undefined ? MISSING : metricText(metricOf(job, metric), metric);
      },
    })),
    { title: 'Status', cell: statusBadge },
  ];
  return (
    <Table.Tr>
      <Table.Td />
      <Table.Td colSpan={COLUMNS.length} p={0}>
        <Loaded query={trials} name="The trials of the run">
          {(page) => (
            <DataTable
              label={`Trials of ${run.plan}`}
              columns={columns}
              rows={page.trials}
              rowKey={({ id, attempt }) => `${id} ${attempt}`}
            />
          )}
        </Loaded>
        {run.trials > TRIALS_SHOWN ? (
          <Link to={`/runs?view=trials&suite=${run.suite}`}>All {counted(run.trials)} trials</Link>
        ) : null}
      </Table.Td>
    </Table.Tr>
  );
}
