/**
 * Page of a campaign (trials of many plans and parameter values): progress, effects of the parameters, trials without
 * results, and the campaign's YAML file.
 */
import { Alert, Group, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useParams } from 'react-router';

import { useCampaign } from '../../api/queries';
import type { Campaign, CampaignDetail } from '../../api/types';
import { Empty, Loaded } from '../../components/QueryStates';
import { StatusBadge } from '../../components/StatusBadge';
import { DataTable, Scrolled } from '../../components/table/DataTable';
import { WorkProgress } from '../../components/WorkProgress';
import { counted, duration, moment } from '../../format/numbers';
import { endedText } from '../run/runText';
import { asOf, endingText, factorColumns } from './campaignText';
import { FactorAnalysis } from './FactorAnalysis';

export function Component() {
  const { name = '' } = useParams();
  const campaign = useCampaign(name);
  const state = campaign.data?.progress.state;
  useDocumentTitle(state ? `${name}, ${state} · fabricbench` : `${name} · fabricbench`);
  return (
    <Loaded query={campaign} name="The campaign">
      {(data) => <Body campaign={data} />}
    </Loaded>
  );
}

function Body({ campaign }: { campaign: CampaignDetail }) {
  const { progress, title } = campaign;
  const ending = endingText(progress);
  return (
    <Stack gap="sm">
      <div>
        <Group gap="xs">
          <Title order={1}>{progress.name}</Title>
          <StatusBadge status={progress.state} />
        </Group>
        <Text size="sm" className="muted">
          {title === '' ? '' : `${title} · `}campaign · as of {moment(progress.noted_at)}
        </Text>
      </div>
      {ending === '' ? null : (
        <Alert color={progress.state === 'failed' ? 'red' : 'gray'} variant="light">
          {ending}
        </Alert>
      )}
      <ProgressPanel progress={progress} />
      {!campaign.has_trials ? (
        <Empty title="The list of its trials is missing">
          An earlier version ran it. The same command with this version adds the list, and repeats no trial.
        </Empty>
      ) : campaign.recorded === 0 ? (
        <Empty title="No trial has a record yet">
          The effects of its factors appear here as soon as trials have ended.
        </Empty>
      ) : (
        <FactorAnalysis campaign={campaign} asOf={asOf(campaign)} />
      )}
      <MissingTrials campaign={campaign} />
      {campaign.source === '' ? null : (
        <section className="panel" style={{ padding: '10px 14px' }} aria-label="File">
          <Title order={2}>File</Title>
          <Scrolled label="The file of the campaign">
            <pre className="mono" style={{ margin: 0, fontSize: 12 }}>
              {campaign.source.trimEnd()}
            </pre>
          </Scrolled>
        </section>
      )}
    </Stack>
  );
}

function ProgressPanel({ progress }: { progress: Campaign }) {
  const running = progress.state === 'running';
  const figures: [string, string][] = [
    ['Trials ended', endedText(progress)],
    ['Failed', counted(progress.failed)],
    ['Recorded earlier', counted(progress.kept)],
    ['Cores', running ? counted(progress.cores) : '–'],
    ['Time so far', duration(progress.elapsed_s)],
    ['Time left, estimated', running ? duration(progress.left_s) : '–'],
  ];
  return (
    <WorkProgress
      label="Completed percentage of the estimated work"
      percent={progress.percent}
      state={progress.state}
      figures={figures}
      cols={{ base: 3, md: 6 }}
      waits={progress.waits}
    />
  );
}

/** Trials without a record: failed trials and those that have not run. */
function MissingTrials({
  campaign: { missing, missing_total: total, factors },
}: {
  campaign: CampaignDetail;
}) {
  if (total === 0) return null;
  const names = factors.map(({ name }) => name);
  return (
    <section className="panel" style={{ padding: '10px 14px' }} aria-label="Without a record">
      <Title order={2}>Without a record</Title>
      <Scrolled label="Trials without a record" heightMax={360}>
        <DataTable
          label="Trials without a record"
          columns={[
            { title: 'Status', cell: (trial) => trial.status },
            { title: 'Trial', className: 'mono', cell: (trial) => trial.trial },
            ...factorColumns(names),
            { title: 'Iteration', right: true, cell: (trial) => trial.iteration },
          ]}
          rows={missing}
        />
      </Scrolled>
      {total > missing.length ? (
        <Text size="sm" className="muted" mt={6}>
          And {counted(total - missing.length)} more.
        </Text>
      ) : null}
    </section>
  );
}
