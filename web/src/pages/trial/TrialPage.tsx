/**
 * Page of one trial: header and views in tabs (summary, diagnosis, figures, tables of its results, map of ranks to
 * switch ports, hosts, plan); FiguresView draws the figures of a view.
 */
import { Stack, Tabs } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useNavigate, useParams } from 'react-router';

import { query } from '../../api/client';
import { useFigures, useTrial } from '../../api/queries';
import type { TrialDetail } from '../../api/types';
import { FigurePanel, TimeRangeBar } from '../../components/chart/FigurePanel';
import { searchOfRange, timeRangeOf } from '../../components/chart/timeRange';
import { Empty, Loaded } from '../../components/QueryStates';
import { useSearch } from '../../components/useSearch';
import { dataSize } from '../../format/numbers';
import { DiagnosisView } from './DiagnosisView';
import { HostsView } from './HostsView';
import { OutputView, PlanView } from './PlanView';
import { PortMapView } from './PortMapView';
import { RecordTables } from './RecordTables';
import { SummaryView } from './SummaryView';
import { TrialHeader } from './TrialHeader';
import {
  figuresOf,
  hasFigures,
  hasTables,
  hostsOf,
  isPrinted,
  jobsOf,
  type View,
  VIEWS,
  viewsOf,
} from './views';

export function Component() {
  const { id = '', view = 'summary' } = useParams();
  const trial = useTrial(id);
  const data = trial.data;
  useDocumentTitle(
    data ? `${data.plan}, ${dataSize(data.data_size_bytes)} · fabricbench` : 'Trial · fabricbench',
  );
  return (
    <Loaded query={trial} name={`Trial ${id}`}>
      {(detail) => <TrialViews trial={detail} view={VIEWS.find(({ key }) => key === view) ?? VIEWS[0]} />}
    </Loaded>
  );
}

function TrialViews({ trial, view }: { trial: TrialDetail; view: View | undefined }) {
  const navigate = useNavigate();
  const { search } = useSearch();
  if (view === undefined) return null;
  const open = (key: string | null) =>
    navigate(`/trials/${trial.id}/${key ?? 'summary'}${query({ ...searchOfRange(timeRangeOf(search)) })}`);
  return (
    <Stack gap="sm">
      <TrialHeader trial={trial} view={view.key} />
      <Tabs value={view.key} onChange={(key) => void open(key)}>
        <Tabs.List aria-label="Views of the trial">
          {viewsOf(trial).map(({ key, title }) => (
            <Tabs.Tab key={key} value={key} px="sm" py={7}>
              {key === 'plan' && isPrinted(trial) ? 'Output' : title}
              {key === 'diagnosis' ? findingsText(trial) : ''}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={view.key} pt="sm">
          <ViewBody trial={trial} view={view} key={`${trial.id} ${view.key}`} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}

function findingsText(trial: TrialDetail) {
  const count = jobsOf(trial).reduce((sum, job) => sum + (job.diagnosis?.length ?? 0), 0);
  return count === 0 ? '' : ` (${count})`;
}

function ViewBody({ trial, view }: { trial: TrialDetail; view: View }) {
  if (view.key === 'plan' && isPrinted(trial)) return <OutputView trial={trial} />;
  if (trial.shown !== null && !hasTables(trial, view.needs)) return <NotMeasured trial={trial} view={view} />;
  if (view.key === 'diagnosis') return <DiagnosisView trial={trial} />;
  if (view.key === 'port-map') return <PortMapView trial={trial} />;
  if (view.key === 'plan') return <PlanView trial={trial} />;
  if (view.key === 'hosts') {
    return (
      <Stack gap="sm">
        <HostsView hosts={hostsOf(trial)} />
        {hasTables(trial, view.tables) ? <RecordTables trial={trial} view={view} /> : null}
      </Stack>
    );
  }
  return (
    <Stack gap="sm">
      {view.key === 'summary' ? <SummaryView trial={trial} /> : null}
      <FiguresView trial={trial} view={view} />
      <RecordTables trial={trial} view={view} />
    </Stack>
  );
}

function FiguresView({ trial, view }: { trial: TrialDetail; view: View }) {
  const figures = useFigures(trial.id);
  if (!hasFigures(view.key)) return null;
  return (
    <Loaded query={figures} name="Figures">
      {({ figures: all }) => {
        const shown = figuresOf(view.key, all);
        if (shown.length === 0 && view.tables.length === 0 && view.key !== 'summary') {
          return <Empty title="Nothing to draw">The record of this trial has nothing for this view.</Empty>;
        }
        const jobs = jobsOf(trial).map(({ job }) => job);
        return (
          <>
            {shown.some(({ over_time }) => over_time) ? <TimeRangeBar /> : null}
            {shown.map((figure) => (
              <FigurePanel key={figure.name} trial={trial.id} figure={figure} jobs={jobs} />
            ))}
          </>
        );
      }}
    </Loaded>
  );
}

/** Shown in place of a view whose tables are not in the record. */
function NotMeasured({ trial, view }: { trial: TrialDetail; view: View }) {
  const missing = view.needs.filter((table) => !hasTables(trial, [table]));
  return (
    <Empty title="Not measured">
      This view needs the table{missing.length > 1 ? 's' : ''} {missing.join(', ')}, which backend{' '}
      {trial.backend} does not record.
    </Empty>
  );
}
