/** What the factors of a campaign do to a metric of the reader's choice: figures and tables. */
import { Group, Paper, Select, SimpleGrid, Stack, Switch, Text, Title } from '@mantine/core';

import { useCampaignAnalysis, useMetrics } from '../../api/queries';
import type { CampaignAnalysis, CampaignSetting } from '../../api/campaigns';
import type { CampaignDetail } from '../../api/types';
import { CaptionedChart } from '../../components/chart/CaptionedChart';
import { Loaded } from '../../components/Loaded';
import { useSearch } from '../../components/useSearch';
import { metricLabel } from '../../format/metrics';
import { counted, MISSING, significant } from '../../format/numbers';
import { Pareto } from './ParetoFront';
import { Scrolled } from '../../components/table/Scrolled';
import { answers, heads, percentText } from './campaignText';

const TITLES: Record<string, string> = { effects: 'Effect of each value', parallel: 'Settings' };

export function Analysis({ campaign, asOf }: { campaign: CampaignDetail; asOf: number }) {
  const { search, change } = useSearch();
  const metrics = useMetrics();
  const { name } = campaign.progress;
  const job = search.get('job');
  const metric = search.get('metric');
  const query = useCampaignAnalysis(name, { metric, job, relative: search.has('relative'), as_of: asOf });
  const choices = campaign.metrics.map((each) => ({ value: each, label: metricLabel(metrics, each) }));
  return (
    <>
      <Group gap="sm" role="group" aria-label="What is analysed">
        <Select
          label="Metric"
          w={300}
          searchable
          allowDeselect={false}
          data={choices}
          value={metric ?? campaign.metrics[0] ?? null}
          onChange={(chosen) => change({ metric: chosen })}
        />
        {campaign.jobs.length > 1 ? (
          <Select
            label="Job"
            w={220}
            clearable
            placeholder="the one that fares worst"
            data={campaign.jobs}
            value={job}
            onChange={(chosen) => change({ job: chosen })}
          />
        ) : null}
        <Switch
          label="Relative to the mean of plan and size"
          mt={20}
          checked={search.has('relative')}
          onChange={(event) => change({ relative: event.currentTarget.checked ? 'true' : null })}
        />
        <Text size="sm" className="muted" mt={20} role="status">
          {counted(campaign.recorded)} of {counted(campaign.recorded + campaign.missing_total)} trials have a
          record
          {campaign.alone > 0 ? `; ${counted(campaign.alone)} of a job alone are left out` : ''}
        </Text>
      </Group>
      <Loaded query={query} what="The analysis">
        {(told) => <Told told={told} busy={query.isFetching} />}
      </Loaded>
      {campaign.metrics.length > 1 ? (
        <Pareto name={name} choices={choices} job={job} asOf={asOf} factors={campaign.factors} />
      ) : null}
    </>
  );
}

function Told({ told, busy }: { told: CampaignAnalysis; busy: boolean }) {
  const one = (name: string) => told.figures.filter((figure) => figure.name === name);
  const pairs = told.figures.filter(({ name }) => name.startsWith('pair-'));
  if (told.best.length === 0) return <Text size="sm">No trial has {told.title}.</Text>;
  return (
    <Stack gap="sm" aria-busy={busy}>
      <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="xs">
        {answers(told).map(({ label, value, about }) => (
          <Paper key={label} withBorder p="xs">
            <Text size="xs" className="muted">
              {label}
            </Text>
            <Text fw={600} className="num" style={{ overflowWrap: 'anywhere' }}>
              {value}
            </Text>
            <Text size="xs" className="muted" style={{ overflowWrap: 'anywhere' }}>
              {about}
            </Text>
          </Paper>
        ))}
      </SimpleGrid>
      <section className="panel" style={{ padding: '10px 14px' }} aria-label="What each factor does">
        <Title order={2}>{told.title}: what each factor does</Title>
        {[...told.notes, ...unmeasured(told)].map((note) => (
          <Text key={note} size="sm" className="muted">
            {note}
          </Text>
        ))}
        {one('effects').map((figure) => (
          <CaptionedChart key={figure.name} figure={figure} label={TITLES.effects ?? ''} />
        ))}
        <div
          style={{ display: 'grid', gap: 12, gridTemplateColumns: 'repeat(auto-fit, minmax(440px, 1fr))' }}
        >
          {pairs.map((figure) => (
            <div key={figure.name} style={{ minWidth: 0 }}>
              <CaptionedChart figure={figure} label={`Two factors, ${figure.caption ?? ''}`} />
            </div>
          ))}
        </div>
        <Group align="flex-start" gap="lg" mt="sm">
          <EffectsTable told={told} />
          <SharesTable told={told} />
        </Group>
      </section>
      <section className="panel" style={{ padding: '10px 14px' }} aria-label="Settings">
        <Title order={2}>{told.title}: settings</Title>
        {one('parallel').map((figure) => (
          <CaptionedChart key={figure.name} figure={figure} label="Every setting" />
        ))}
        {told.best_of_each.length > 1 ? (
          <>
            <Title order={3} size="sm" mt="sm">
              Best of each plan and size
            </Title>
            <SettingsTable
              label="Best of each plan and size"
              told={told}
              rows={told.best_of_each}
              rank={null}
            />
          </>
        ) : null}
        <Title order={3} size="sm" mt="sm">
          Best and worst
        </Title>
        <SettingsTable
          label="Best and worst settings"
          told={told}
          rows={[...told.best, ...told.worst]}
          rank={(place) =>
            place < told.best.length
              ? place + 1
              : told.settings_total - told.worst.length + place - told.best.length + 1
          }
        />
      </section>
    </Stack>
  );
}

function unmeasured({ unmeasured: count, title }: CampaignAnalysis): string[] {
  return count > 0 ? [`${counted(count)} trials with a record have no ${title}.`] : [];
}

function EffectsTable({ told }: { told: CampaignAnalysis }) {
  if (told.effects.length === 0) return null;
  return (
    <div style={{ flex: '1 1 420px', minWidth: 0 }}>
      <Scrolled label="Effects" most={420}>
        <table className="plain" aria-label="Effects">
          <thead>
            <tr>
              <th>Factor</th>
              <th>Value</th>
              <th className="right">Mean{told.unit === '' ? '' : ` [${told.unit}]`}</th>
              <th className="right">Effect [%]</th>
              <th className="right">± 95 % [%]</th>
            </tr>
          </thead>
          <tbody>
            {told.effects.map((row) => (
              <tr key={`${row.factor} ${row.value}`}>
                <td>{row.factor}</td>
                <td>{row.value}</td>
                <td className="right num">{significant(row.mean, 5)}</td>
                <td className="right num">{percentText(row.percent, { signed: true })}</td>
                <td className="right num">{percentText(row.margin_percent)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolled>
    </div>
  );
}

function SharesTable({ told }: { told: CampaignAnalysis }) {
  if (told.variance.length === 0) return null;
  return (
    <div style={{ flex: '1 1 320px', minWidth: 0 }}>
      <Scrolled label="What explains the variance" most={420}>
        <table className="plain" aria-label="What explains the variance">
          <thead>
            <tr>
              <th>Factor, or two together (x) beyond each alone</th>
              <th className="right">Of the variance [%]</th>
            </tr>
          </thead>
          <tbody>
            {told.variance.map(({ source, share }) => (
              <tr key={source}>
                <td>{source}</td>
                <td className="right num">{percentText(100 * share)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolled>
    </div>
  );
}

interface SettingsProps {
  label: string;
  told: CampaignAnalysis;
  rows: CampaignSetting[];
  /** The place of each row among all settings; none where they are of different loads. */
  rank: ((place: number) => number) | null;
}

function SettingsTable({ label, told, rows, rank }: SettingsProps) {
  const { factors, unit } = told;
  return (
    <Scrolled label={label} most={600}>
      <table className="plain" aria-label={label}>
        <thead>
          <tr>
            {rank === null ? null : <th className="right">Rank</th>}
            {heads(factors).map((head, place) => (
              <th key={factors[place]} title={factors[place]}>
                {head}
              </th>
            ))}
            <th className="right">Mean{unit === '' ? '' : ` [${unit}]`}</th>
            <th className="right">± 95 %</th>
            <th className="right">Seeds</th>
            {rank === null ? <th className="right">Others as good</th> : null}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, place) => (
            <tr key={factors.map((name) => row[name]).join()}>
              {rank === null ? null : <td className="right num">{counted(rank(place))}</td>}
              {factors.map((name) => (
                <td key={name}>{row[name]}</td>
              ))}
              <td className="right num">{significant(row.mean, 5)}</td>
              <td className="right num">{significant(row.margin, 3)}</td>
              <td className="right num">{row.seeds}</td>
              {rank === null ? <td className="right num">{row.as_good ?? MISSING}</td> : null}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolled>
  );
}
