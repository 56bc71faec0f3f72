/** One run: how far it is, what it measures meanwhile, its trials, and how to stop it. */
import { Alert, Group, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { Link, useParams } from 'react-router';

import { type Live, useRunEvents } from '../../api/events';
import { useRun } from '../../api/queries';
import { FINAL_STATES } from '../../api/states';
import type { RunDetail } from '../../api/types';
import { Loaded } from '../../components/Loaded';
import { StatusBadge } from '../../components/StatusBadge';
import { WorkProgress } from '../../components/WorkProgress';
import { caseText } from '../../format/sweep';
import { dataSize, duration, moment, short, simulatedTime } from '../../format/numbers';
import { CancelButton } from './CancelButton';
import { LiveCharts } from './LiveCharts';
import { RecordedCharts } from './RecordedCharts';
import { RunTwins } from './RunTwins';
import { SearchedTable } from './SearchResultTable';
import { doneText, firstTwin, isMeasured, lastFinished, waitText, whereText } from './runText';

export function Component() {
  const { id = '' } = useParams();
  const run = useRun(id);
  useDocumentTitle(run.data ? `${run.data.plan}, ${run.data.state} · fabricbench` : 'Run · fabricbench');
  const following = run.data !== undefined && !FINAL_STATES.includes(run.data.state);
  const live = useRunEvents(id, following);
  return (
    <Loaded query={run} what="The run">
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
            {whereText(run) === '' ? '' : ` · ${whereText(run)}`} · asked for {moment(run.created_at)}
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
      <SearchedTable found={run.search ?? []} />
      <RunTrials run={run} />
    </Stack>
  );
}

function ProgressPanel({ run, live }: { run: RunDetail; live: Live }) {
  const progress = live.progress ?? run.progress;
  const share = run.state === 'complete' ? 1 : (progress?.share ?? 0);
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
      label="Share of the work that is done"
      percent={share * 100}
      state={run.state}
      figures={figures}
      cols={5}
    />
  );
}

function RunTrials({ run }: { run: RunDetail }) {
  return (
    <div className="panel" style={{ overflowX: 'auto' }}>
      <table className="plain" aria-label="Trials of the run">
        <thead>
          <tr>
            <th>Status</th>
            <th>Trial</th>
            {run.twin ? <th>By</th> : null}
            <th>Variant, swept values</th>
            <th className="right">Data size</th>
            <th className="right">Iteration</th>
          </tr>
        </thead>
        <tbody>
          {run.trials.map((trial) => (
            <tr key={trial.id}>
              <td>
                <StatusBadge status={trial.status} verdict={trial.verdict} />
              </td>
              <td className="mono">
                {trial.status === 'complete' || trial.status === 'incomplete' ? (
                  <Link to={`/trials/${trial.id}`}>{trial.id}</Link>
                ) : (
                  trial.id
                )}
              </td>
              {run.twin ? <td>{trial.backend}</td> : null}
              <td>{caseText(trial) || 'base'}</td>
              <td className="right">{dataSize(trial.data_size_bytes)}</td>
              <td className="right">{trial.iteration}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
