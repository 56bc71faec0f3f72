/** Everything about one trial, in views that share its header. */
import { Stack, Tabs } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useEffect } from 'react';
import { useNavigate, useParams } from 'react-router';

import { query } from '../../api/client';
import { useTrial } from '../../api/queries';
import type { TrialDetail } from '../../api/types';
import { Loaded } from '../../components/Loaded';
import { loadPlotly } from '../../components/chart/plotly';
import { useSearch } from '../../components/useSearch';
import { addressOf, stretchOf } from '../../components/chart/timeRange';
import { dataSize } from '../../format/numbers';
import { DiagnosisView } from './DiagnosisView';
import { FiguresView } from './FiguresView';
import { Header } from './TrialHeader';
import { HostsView } from './HostsView';
import { NotMeasured, OutputView } from './OutputView';
import { PlanView } from './PlanView';
import { PortMapView } from './PortMapView';
import { SummaryView } from './SummaryView';
import { TablesView } from './TablesView';
import { draws, holds, hostsOf, isPrinted, jobsOf, type View, VIEWS, viewsOf } from './views';

export function Component() {
  const { id = '', view = 'summary' } = useParams();
  const trial = useTrial(id);
  useDrawingLibrary(view);
  const data = trial.data;
  useDocumentTitle(
    data ? `${data.plan}, ${dataSize(data.data_size_bytes)} · fabricbench` : 'Trial · fabricbench',
  );
  return (
    <Loaded query={trial} what={`Trial ${id}`}>
      {(detail) => <Statistics trial={detail} view={VIEWS.find(({ key }) => key === view) ?? VIEWS[0]} />}
    </Loaded>
  );
}

/** Have the library fetched and started while the server looks up the trial. */
function useDrawingLibrary(view: string) {
  const wanted = draws(view);
  useEffect(() => {
    // Whoever draws a figure tells of a failure.
    if (wanted) loadPlotly().catch(() => undefined);
  }, [wanted]);
}

function Statistics({ trial, view }: { trial: TrialDetail; view: View | undefined }) {
  const navigate = useNavigate();
  const { search } = useSearch();
  if (view === undefined) return null;
  const open = (key: string | null) =>
    navigate(`/trials/${trial.id}/${key ?? 'summary'}${query({ ...addressOf(stretchOf(search)) })}`);
  return (
    <Stack gap="sm">
      <Header trial={trial} view={view.key} />
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
  if (trial.shown !== null && !holds(trial, view.needs)) return <NotMeasured trial={trial} view={view} />;
  if (view.key === 'diagnosis') return <DiagnosisView trial={trial} />;
  if (view.key === 'port-map') return <PortMapView trial={trial} />;
  if (view.key === 'plan') return <PlanView trial={trial} />;
  if (view.key === 'hosts') {
    return (
      <Stack gap="sm">
        <HostsView hosts={hostsOf(trial)} />
        {holds(trial, view.tables) ? <TablesView trial={trial} view={view} /> : null}
      </Stack>
    );
  }
  return (
    <Stack gap="sm">
      {view.key === 'summary' ? <SummaryView trial={trial} /> : null}
      <FiguresView trial={trial} view={view} />
      <TablesView trial={trial} view={view} />
    </Stack>
  );
}
