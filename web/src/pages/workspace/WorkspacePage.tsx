/**
 * Page of the runs of the workspace (the folder with all results), whoever started them: queue, campaigns, list of
 * runs or trials with search, filters, saved views, sorting, selection, tagging, deletion and undo.
 */
import { Button, Group, SegmentedControl, Stack, Text, Title } from '@mantine/core';
import { IconUpload } from '@tabler/icons-react';
import { useMemo } from 'react';
import { Link, useNavigate } from 'react-router';

import { trialsOf, useMetrics, useRunList, useRuns } from '../../api/queries';
import type { Trial, TrialPage } from '../../api/types';
import { Grid } from '../../components/table/Grid';
import { Empty, Failure, Loading } from '../../components/QueryStates';
import { usePages } from '../../components/table/usePages';
import { useSearch } from '../../components/useSearch';
import { counted } from '../../format/numbers';
import { CampaignsTable } from './CampaignsTable';
import { FilterBar } from './FilterBar';
import { filterOf, isFiltered, isTrialList, sortingOf } from './filters';
import { QueueTable } from './QueueTable';
import { RunList } from './RunList';
import { SavedViews } from './SavedViews';
import { SelectionActions } from './SelectionActions';
import { trialColumns } from './trialColumns';
import { useSelection } from './useSelection';

export function Component() {
  const { search, change } = useSearch();
  const filter = useMemo(() => filterOf(search), [search]);
  const selection = useSelection();
  const busy = useRuns().data?.runs.some((run) => run.state === 'running') ?? false;
  const pages = usePages<TrialPage, Trial>(
    ['get', '/api/v1/trials', filter],
    (offset, limit, signal) => trialsOf({ ...filter, offset, limit }, signal),
    (answer) => ({ total: answer.total, rows: answer.trials }),
    busy ? 2_000 : false,
  );
  const flat = isTrialList(search);
  const runs = useRunList(filter, !flat, busy ? 2_000 : false);
  const runCount = runs.data?.pages[0]?.total;
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Group gap="sm" align="baseline">
          <Title order={1}>Runs</Title>
          <Text size="sm" className="muted" role="status">
            {countText(pages.total, flat ? undefined : runCount)}
          </Text>
          <SegmentedControl
            aria-label="List"
            size="xs"
            data={[
              { value: 'runs', label: 'By run' },
              { value: 'trials', label: 'Trials' },
            ]}
            value={flat ? 'trials' : 'runs'}
            onChange={(view) => change({ view: view === 'trials' ? view : null })}
          />
        </Group>
        <Group gap="xs">
          <SavedViews search={search} change={change} />
          <Button component={Link} to="/import" variant="default" leftSection={<IconUpload size={14} />}>
            Import results
          </Button>
          <Button component={Link} to="/configure">
            New run
          </Button>
        </Group>
      </Group>
      <QueueTable />
      <CampaignsTable />
      <FilterBar search={search} change={change} />
      <SelectionActions selection={selection} deleted={search.has('deleted')} />
      {flat || runCount === 0 ? (
        <List pages={pages} selection={selection} search={search} change={change} />
      ) : (
        <ByRun list={runs} filter={filter} selection={selection} search={search} change={change} />
      )}
    </Stack>
  );
}

function ByRun(props: Parameters<typeof RunList>[0]) {
  const { list } = props;
  if (list.data !== undefined) return <RunList {...props} />;
  if (list.error === null) return <Loading name="runs" />;
  return <Failure error={list.error} name="The list of runs" retry={() => void list.refetch()} />;
}

interface ListProps extends ReturnType<typeof useSearch> {
  pages: ReturnType<typeof usePages<TrialPage, Trial>>;
  selection: ReturnType<typeof useSelection>;
}

function List({ pages, selection, search, change }: ListProps) {
  const navigate = useNavigate();
  const metrics = useMetrics();
  const { key } = sortingOf(search);
  const columns = useMemo(() => trialColumns(selection, metrics, key), [selection, metrics, key]);
  if (pages.error !== null)
    return <Failure error={pages.error} name="The list of trials" retry={pages.refetch} />;
  if (pages.total === undefined) return <Loading name="trials" />;
  if (pages.total === 0) return isFiltered(search) ? <NoMatch /> : <NoTrials />;
  return (
    <Grid
      label="Trials"
      columns={columns}
      total={pages.total}
      rowAt={pages.rowAt}
      rowKey={(trial) => trial.id}
      height="calc(100vh - 210px)"
      rowHeight={30}
      sorting={sortingOf(search)}
      onSort={({ key, order }) => change({ sort: key, order })}
      onVisible={pages.onVisible}
      onOpen={(trial) => void navigate(`/trials/${trial.id}`)}
      onSpace={(trial) => selection.toggle(trial.id)}
    />
  );
}

function NoMatch() {
  return <Empty title="No trial matches these filters">Widen or clear them to see more.</Empty>;
}

function NoTrials() {
  return (
    <Empty title="No trial has run in this workspace">
      <Link to="/configure">Configure one</Link>, <Link to="/import">import measured results</Link>, or run a
      shipped plan: <code>fabricbench run jct-alltoall</code>.
    </Empty>
  );
}

function countText(trials: number | undefined, runs: number | undefined): string {
  if (trials === undefined) return '';
  if (runs === undefined) return `${counted(trials)} ${trials === 1 ? 'trial' : 'trials'}`;
  return `${counted(trials)} trials in ${counted(runs)} ${runs === 1 ? 'run' : 'runs'}`;
}
