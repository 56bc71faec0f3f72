/** A campaign: how far it is, what its factors do, and which trials have no record. */
import { Alert, Group, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useParams } from 'react-router';

import { useCampaign } from '../../api/queries';
import type { Campaign, CampaignDetail } from '../../api/types';
import { Loaded } from '../../components/Loaded';
import { Empty } from '../../components/QueryStates';
import { StatusBadge } from '../../components/StatusBadge';
import { WorkProgress } from '../../components/WorkProgress';
import { counted, duration, moment } from '../../format/numbers';
import { endedText } from '../run/runText';
import { Analysis } from './FactorAnalysis';
import { Scrolled } from '../../components/table/Scrolled';
import { asOf, endingText, heads } from './campaignText';

export function Component() {
  const { name = '' } = useParams();
  const campaign = useCampaign(name);
  const state = campaign.data?.progress.state;
  useDocumentTitle(state ? `${name}, ${state} · fabricbench` : `${name} · fabricbench`);
  return (
    <Loaded query={campaign} what="The campaign">
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
        <Empty title="It is not known which trials it has">
          An earlier version ran it. The same command with this one tells, and runs no trial again.
        </Empty>
      ) : campaign.recorded === 0 ? (
        <Empty title="No trial has a record yet">
          What its factors do appears here as soon as trials have ended.
        </Empty>
      ) : (
        <Analysis campaign={campaign} asOf={asOf(campaign)} />
      )}
      <Missing campaign={campaign} />
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
    ['Had their record', counted(progress.kept)],
    ['Cores', running ? counted(progress.cores) : '–'],
    ['Time so far', duration(progress.elapsed_s)],
    ['Time left, estimated', running ? duration(progress.left_s) : '–'],
  ];
  return (
    <WorkProgress
      label="Share of the estimated work that is done"
      percent={progress.percent}
      state={progress.state}
      figures={figures}
      cols={{ base: 3, md: 6 }}
      waits={progress.waits}
    />
  );
}

/** Trials without a record: those that have failed first come to mind, and those that are still to run. */
function Missing({ campaign: { missing, missing_total: total, factors } }: { campaign: CampaignDetail }) {
  if (total === 0) return null;
  const names = factors.map(({ name }) => name);
  return (
    <section className="panel" style={{ padding: '10px 14px' }} aria-label="Without a record">
      <Title order={2}>Without a record</Title>
      <Scrolled label="Trials without a record" most={360}>
        <table className="plain" aria-label="Trials without a record">
          <thead>
            <tr>
              <th>Status</th>
              <th>Trial</th>
              {heads(names).map((head, place) => (
                <th key={names[place]} title={names[place]}>
                  {head}
                </th>
              ))}
              <th className="right">Iteration</th>
            </tr>
          </thead>
          <tbody>
            {missing.map((trial) => (
              <tr key={[trial.trial, ...names.map((name) => trial[name])].join()}>
                <td>{trial.status}</td>
                <td className="mono">{trial.trial}</td>
                {names.map((name) => (
                  <td key={name}>{trial[name]}</td>
                ))}
                <td className="right">{trial.iteration}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolled>
      {total > missing.length ? (
        <Text size="sm" className="muted" mt={6}>
          And {counted(total - missing.length)} more.
        </Text>
      ) : null}
    </section>
  );
}
