/**
 * List of runs with sortable columns; each row opens to a table of the run's trials with selection, metrics and status.
 */
import { ActionIcon, Badge, Button, Checkbox, Group, Table, Text } from '@mantine/core';
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import { Link } from 'react-router';

import { type TrialFilter, useMetrics, useRunList, useTrials } from '../../api/queries';
import type { RunListRow, Trial } from '../../api/types';
import type { Sorting } from '../../components/table/Grid';
import { Failure, Loading } from '../../components/QueryStates';
import { ariaSort, SortButton } from '../../components/table/SortButton';
import { StatusBadge } from '../../components/StatusBadge';
import type { useSearch } from '../../components/useSearch';
import { caseText } from '../../format/sweep';
import { shownJob, worstText } from '../../format/jobs';
import { metricOf, metricText } from '../../format/metrics';
import { counted, dataSize, MISSING, moment } from '../../format/numbers';
import { Tags, Verdict } from './trialColumns';
import { sortingOf } from './filters';
import { percentRange, sameText, spanText } from './runText';
import type { useSelection } from './useSelection';

/** Greatest number of trials shown below a run; the list of trials has all. */
const TRIALS_SHOWN = 100;

interface RunColumn {
  title: string;
  /** Sort key of the server, if it can sort by the column. */
  sort?: string;
  hint?: string;
  right?: boolean;
}

const COLUMNS: readonly RunColumn[] = [
  { title: 'Plan', sort: 'plan' },
  { title: 'State', sort: 'status' },
  { title: 'Criteria', hint: "Whether a trial fails the plan's criteria" },
  { title: 'Trials', right: true },
  { title: 'Sizes, variants, iterations' },
  {
    title: 'Of ideal, %',
    sort: 'ideal_percent',
    hint: 'Least and greatest percentage of the ideal; with several jobs, of the worst job',
    right: true,
  },
  { title: 'Kept alone', hint: 'The job with the least percentage of its bus bandwidth alone' },
  { title: 'Tags' },
  { title: 'Backend', sort: 'backend' },
  { title: 'Ran' },
  { title: 'Took', right: true },
  { title: 'Started', sort: 'started_at' },
];

interface HeadProps {
  head: RunColumn;
  sorting: Sorting;
  change: Props['change'];
}

function Head({ head, sorting, change }: HeadProps) {
  const { title, sort, hint, right } = head;
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
            {COLUMNS.map((head) => (
              <Head key={head.title} head={head} sorting={sortingOf(search)} change={change} />
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
        <Table.Td title={run.title}>{run.plan}</Table.Td>
        <Table.Td>
          <States states={run.states} verdict={run.verdict} />
        </Table.Td>
        <Table.Td>
          <Verdict verdict={run.verdict} />
        </Table.Td>
        <Table.Td className="right">{counted(run.trials)}</Table.Td>
        <Table.Td>{spanText(run)}</Table.Td>
        <Table.Td className="right">{percentRange(run.ideal_percent)}</Table.Td>
        <Table.Td>{worstText(run) || MISSING}</Table.Td>
        <Table.Td>
          <Tags tags={run.tags} />
        </Table.Td>
        <Table.Td title={`fabricbench ${run.engine_version}`}>{run.backend}</Table.Td>
        <Table.Td>
          <EarlierRuns run={run} />
        </Table.Td>
        <Table.Td className="right">{took(run)}</Table.Td>
        <Table.Td style={{ whiteSpace: 'nowrap' }}>{moment(run.started_at, false)}</Table.Td>
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
    <Link to={`/trials?view=trials&suite=${run.same_plan_as}`} title={`Run ${run.same_plan_as}`}>
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
  const shown = useMetrics()
    .filter(({ views }) => views.includes('trials-page'))
    .slice(0, 4);
  return (
    <Table.Tr>
      <Table.Td />
      <Table.Td colSpan={COLUMNS.length} p={0}>
        {trials.error !== null ? (
          <Failure error={trials.error} name="The trials of the run" retry={() => void trials.refetch()} />
        ) : trials.data === undefined ? (
          <Loading name="trials" />
        ) : (
          <Table aria-label={`Trials of ${run.plan}`} verticalSpacing={2}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th w={34} aria-label="Choose" />
                <Table.Th>Trial</Table.Th>
                <Table.Th>Variant</Table.Th>
                <Table.Th>Job</Table.Th>
                <Table.Th className="right">Data size</Table.Th>
                {shown.map((metric) => (
                  <Table.Th key={metric.name} className="right" title={metric.title}>
                    {metric.label}
                    {metric.unit === '' ? '' : ` [${metric.unit}]`}
                  </Table.Th>
                ))}
                <Table.Th>Status</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {trials.data.trials.map((trial) => (
                <Table.Tr key={`${trial.id} ${trial.attempt}`}>
                  <Table.Td>
                    <Checkbox
                      aria-label={`Select ${trial.plan}, ${dataSize(trial.data_size_bytes)}, ${trial.id}`}
                      checked={selection.has(trial.id)}
                      onChange={() => selection.toggle(trial.id)}
                    />
                  </Table.Td>
                  <Table.Td>
                    <Link to={`/trials/${trial.id}`}>{trial.id}</Link>
                  </Table.Td>
                  <Table.Td>
                    {caseText(trial) || 'base'}
                    {trial.iteration > 0 ? ` #${trial.iteration}` : ''}
                  </Table.Td>
                  <Table.Td>{jobText(trial)}</Table.Td>
                  <Table.Td className="right">{dataSize(trial.data_size_bytes)}</Table.Td>
                  {shown.map((metric) => {
                    const job = shownJob(trial, trial.jobs);
                    return (
                      <Table.Td key={metric.name} className="right">
                        {job === undefined ? MISSING : metricText(metricOf(job, metric), metric)}
                      </Table.Td>
                    );
                  })}
                  <Table.Td>
                    <StatusBadge
                      status={trial.status}
                      verdict={trial.verdict}
                      title={trial.message || undefined}
                    />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        )}
        {run.trials > TRIALS_SHOWN ? (
          <Link to={`/trials?view=trials&suite=${run.suite}`}>All {counted(run.trials)} trials</Link>
        ) : null}
      </Table.Td>
    </Table.Tr>
  );
}
