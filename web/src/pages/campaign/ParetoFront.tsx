/**
 * Pareto front of a campaign: selection of two metrics, chart of all settings, and a table of those that no other
 * setting beats in both.
 */
import { Group, Select, Text, Title } from '@mantine/core';

import { useCampaignPareto } from '../../api/queries';
import type { CampaignDetail, CampaignPareto, MetricName } from '../../api/types';
import { CaptionedChart } from '../../components/chart/Chart';
import { Loaded } from '../../components/QueryStates';
import { DataTable, Scrolled } from '../../components/table/DataTable';
import { useSearch } from '../../components/useSearch';
import { counted, significant } from '../../format/numbers';
import { factorColumns, settingKey } from './campaignText';

interface Choice {
  value: string;
  label: string;
}

interface Props {
  name: string;
  choices: Choice[];
  job: string | null;
  asOf: number;
  factors: CampaignDetail['factors'];
}

export function ParetoFront({ name, choices, job, asOf, factors }: Props) {
  const { search, change } = useSearch();
  const first = search.get('first') as MetricName | null;
  const second = search.get('second') as MetricName | null;
  const query = useCampaignPareto(name, { first, second, job }, asOf);
  const [x = null, y = null] = query.data?.metrics ?? [first, second];
  return (
    <section
      className="panel"
      style={{ padding: '10px 14px' }}
      aria-label="Pareto front"
      aria-busy={query.isFetching}
    >
      <Group gap="sm" mb={4} align="flex-end">
        <Title order={2}>Pareto front</Title>
        <AxisSelect
          label="Horizontal axis"
          value={x}
          choices={choices.filter(({ value }) => value !== y)}
          onChange={(metric) => change({ first: metric })}
        />
        <AxisSelect
          label="Vertical axis"
          value={y}
          choices={choices.filter(({ value }) => value !== x)}
          onChange={(metric) => change({ second: metric })}
        />
      </Group>
      <Loaded query={query} name="The Pareto front">
        {(pareto) => (
          <Front pareto={pareto} factors={factors.map((factor) => factor.name)} choices={choices} />
        )}
      </Loaded>
    </section>
  );
}

interface AxisProps {
  label: string;
  value: string | null;
  choices: Choice[];
  onChange: (metric: string | null) => void;
}

function AxisSelect({ label, value, choices, onChange }: AxisProps) {
  return (
    <Select
      label={label}
      w={280}
      searchable
      allowDeselect={false}
      data={choices}
      value={value}
      onChange={onChange}
    />
  );
}

interface FrontProps {
  pareto: CampaignPareto;
  factors: string[];
  choices: Choice[];
}

function Front({ pareto, factors, choices }: FrontProps) {
  const axes = pareto.metrics.map((name) => ({
    name,
    label: choices.find(({ value }) => value === name)?.label ?? name,
  }));
  const label = 'Settings of the front';
  return (
    <>
      <CaptionedChart
        figure={pareto}
        label={`Pareto front, ${axes.map((axis) => axis.label).join(' and ')}`}
      />
      <Scrolled label={label} heightMax={360}>
        <DataTable
          label={label}
          columns={[
            ...factorColumns(factors),
            ...axes.map((axis) => ({
              title: axis.label,
              right: true,
              className: 'num',
              cell: (row: CampaignPareto['front'][number]) => significant(Number(row[axis.name]), 5),
            })),
          ]}
          rows={pareto.front}
          rowKey={settingKey(factors)}
        />
      </Scrolled>
      {pareto.front_total > pareto.front.length ? (
        <Text size="sm" className="muted" mt={6}>
          And {counted(pareto.front_total - pareto.front.length)} more.
        </Text>
      ) : null}
    </>
  );
}
