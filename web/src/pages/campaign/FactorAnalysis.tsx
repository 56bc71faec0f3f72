/**
 * Analysis of a campaign, made by the server: selection of metric and job; effect of each varied parameter (factor),
 * variance explained, best and worst settings with figures and tables; the Pareto front.
 */
import { Group, Paper, Select, SimpleGrid, Stack, Switch, Text, Title } from '@mantine/core';

import { useCampaignAnalysis, useMetrics } from '../../api/queries';
import type {
  CampaignAnalysis,
  CampaignDetail,
  CampaignEffect,
  CampaignSetting,
  MetricName,
} from '../../api/types';
import { CaptionedChart } from '../../components/chart/Chart';
import { Loaded } from '../../components/QueryStates';
import { DataTable, Scrolled, type TableColumn } from '../../components/table/DataTable';
import { useSearch } from '../../components/useSearch';
import { metricLabel } from '../../format/metrics';
import { counted, MISSING, significant } from '../../format/numbers';
import { factorColumns, highlights, percentText, settingKey } from './campaignText';
import { ParetoFront } from './ParetoFront';

export function FactorAnalysis({ campaign, asOf }: { campaign: CampaignDetail; asOf: number }) {
  const { search, change } = useSearch();
  const metrics = useMetrics();
  const { name } = campaign.progress;
  const job = search.get('job');
  const metric = search.get('metric') as MetricName | null;
  const query = useCampaignAnalysis(name, { metric, job, relative: search.has('relative') }, asOf);
  const choices = campaign.metrics.map((each) => ({ value: each, label: metricLabel(metrics, each) }));
  return (
    <>
      <Group gap="sm" role="group" aria-label="Subject of the analysis">
        <Select
          label="Metric"
          w={300}
          searchable
          allowDeselect={false}
          data={choices}
          value={metric ?? campaign.metrics[0] ?? null}
          onChange={(selected) => change({ metric: selected })}
        />
        {campaign.jobs.length > 1 ? (
          <Select
            label="Job"
            w={220}
            clearable
            placeholder="the worst one"
            data={campaign.jobs}
            value={job}
            onChange={(selected) => change({ job: selected })}
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
      <Loaded query={query} name="The analysis">
        {(analysis) => <AnalysisBody analysis={analysis} busy={query.isFetching} />}
      </Loaded>
      {campaign.metrics.length > 1 ? (
        <ParetoFront name={name} choices={choices} job={job} asOf={asOf} factors={campaign.factors} />
      ) : null}
    </>
  );
}

interface AnalysisProps {
  analysis: CampaignAnalysis;
}

function AnalysisBody({ analysis, busy }: AnalysisProps & { busy: boolean }) {
  if (analysis.best.length === 0) return <Text size="sm">No trial has {analysis.title}.</Text>;
  return (
    <Stack gap="sm" aria-busy={busy}>
      <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="xs">
        {highlights(analysis).map(({ label, value, about }) => (
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
      <EffectsSection analysis={analysis} />
      <SettingsSection analysis={analysis} />
    </Stack>
  );
}

function EffectsSection({ analysis }: AnalysisProps) {
  const { title, notes, unmeasured, figures } = analysis;
  const missing = unmeasured > 0 ? [`${counted(unmeasured)} trials with a record have no ${title}.`] : [];
  return (
    <section className="panel" style={{ padding: '10px 14px' }} aria-label="Effect of each factor">
      <Title order={2}>{title}: effect of each factor</Title>
      {[...notes, ...missing].map((note) => (
        <Text key={note} size="sm" className="muted">
          {note}
        </Text>
      ))}
      {figures
        .filter(({ name }) => name === 'effects')
        .map((figure) => (
          <CaptionedChart key={figure.name} figure={figure} label="Effect of each value" />
        ))}
      <div style={{ display: 'grid', gap: 12, gridTemplateColumns: 'repeat(auto-fit, minmax(440px, 1fr))' }}>
        {figures
          .filter(({ name }) => name.startsWith('pair-'))
          .map((figure) => (
            <div key={figure.name} style={{ minWidth: 0 }}>
              <CaptionedChart figure={figure} label={`Two factors, ${figure.caption}`} />
            </div>
          ))}
      </div>
      <Group align="flex-start" gap="lg" mt="sm">
        <EffectsTable analysis={analysis} />
        <VarianceTable analysis={analysis} />
      </Group>
    </section>
  );
}

function EffectsTable({ analysis: { effects, unit } }: AnalysisProps) {
  if (effects.length === 0) return null;
  const columns: TableColumn<CampaignEffect>[] = [
    { title: 'Factor', cell: ({ factor }) => factor },
    { title: 'Value', cell: ({ value }) => value },
    { title: meanTitle(unit), right: true, className: 'num', cell: ({ mean }) => significant(mean, 5) },
    {
      title: 'Effect [%]',
      right: true,
      className: 'num',
      cell: ({ percent }) => percentText(percent, { signed: true }),
    },
    {
      title: '± 95 % [%]',
      right: true,
      className: 'num',
      cell: ({ margin_percent }) => percentText(margin_percent),
    },
  ];
  return (
    <div style={{ flex: '1 1 420px', minWidth: 0 }}>
      <Scrolled label="Effects" heightMax={420}>
        <DataTable label="Effects" columns={columns} rows={effects} />
      </Scrolled>
    </div>
  );
}

function meanTitle(unit: string): string {
  return `Mean${unit === '' ? '' : ` [${unit}]`}`;
}

const VARIANCE_COLUMNS: TableColumn<CampaignAnalysis['variance'][number]>[] = [
  { title: 'Factor, or interaction of two (x)', cell: ({ source }) => source },
  {
    title: 'Of the variance [%]',
    right: true,
    className: 'num',
    cell: ({ share }) => percentText(100 * share),
  },
];

function VarianceTable({ analysis: { variance } }: AnalysisProps) {
  if (variance.length === 0) return null;
  const label = 'Explained variance';
  return (
    <div style={{ flex: '1 1 320px', minWidth: 0 }}>
      <Scrolled label={label} heightMax={420}>
        <DataTable label={label} columns={VARIANCE_COLUMNS} rows={variance} />
      </Scrolled>
    </div>
  );
}

function SettingsSection({ analysis }: AnalysisProps) {
  const { title, figures, best, worst, best_of_each, settings_total } = analysis;
  const rank = (index: number) =>
    index < best.length ? index + 1 : settings_total - worst.length + index - best.length + 1;
  return (
    <section className="panel" style={{ padding: '10px 14px' }} aria-label="Settings">
      <Title order={2}>{title}: settings</Title>
      {figures
        .filter(({ name }) => name === 'parallel')
        .map((figure) => (
          <CaptionedChart key={figure.name} figure={figure} label="Every setting" />
        ))}
      {best_of_each.length > 1 ? (
        <>
          <Title order={3} size="sm" mt="sm">
            Best of each plan and size
          </Title>
          <SettingsTable
            label="Best of each plan and size"
            analysis={analysis}
            rows={best_of_each}
            rank={null}
          />
        </>
      ) : null}
      <Title order={3} size="sm" mt="sm">
        Best and worst
      </Title>
      <SettingsTable
        label="Best and worst settings"
        analysis={analysis}
        rows={[...best, ...worst]}
        rank={rank}
      />
    </section>
  );
}

interface SettingsProps extends AnalysisProps {
  label: string;
  rows: CampaignSetting[];
  /** Rank of a row by its index; null for settings of different loads, which have no common order. */
  rank: ((index: number) => number) | null;
}

function SettingsTable({ label, analysis: { factors, unit }, rows, rank }: SettingsProps) {
  const columns: TableColumn<CampaignSetting>[] = [
    ...(rank === null
      ? []
      : [
          {
            title: 'Rank',
            right: true,
            className: 'num',
            cell: (_: unknown, index: number) => counted(rank(index)),
          },
        ]),
    ...factorColumns(factors),
    { title: meanTitle(unit), right: true, className: 'num', cell: ({ mean }) => significant(mean, 5) },
    { title: '± 95 %', right: true, className: 'num', cell: ({ margin }) => significant(margin, 3) },
    { title: 'Seeds', right: true, className: 'num', cell: ({ seeds }) => seeds },
    ...(rank === null
      ? [
          {
            title: 'Others as good',
            right: true,
            className: 'num',
            cell: ({ as_good }: CampaignSetting) => as_good ?? MISSING,
          },
        ]
      : []),
  ];
  return (
    <Scrolled label={label} heightMax={600}>
      <DataTable label={label} columns={columns} rows={rows} rowKey={settingKey(factors)} />
    </Scrolled>
  );
}
