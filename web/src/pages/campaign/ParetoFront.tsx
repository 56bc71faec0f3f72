/** Two metrics of the settings of a campaign against each other. */
import { Group, Select, Text, Title } from '@mantine/core';

import { useCampaignPareto } from '../../api/queries';
import type { CampaignPareto } from '../../api/campaigns';
import type { CampaignDetail } from '../../api/types';
import { CaptionedChart } from '../../components/chart/CaptionedChart';
import { Loaded } from '../../components/Loaded';
import { useSearch } from '../../components/useSearch';
import { counted, significant } from '../../format/numbers';
import { Scrolled } from '../../components/table/Scrolled';
import { heads } from './campaignText';

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

export function Pareto({ name, choices, job, asOf, factors }: Props) {
  const { search, change } = useSearch();
  const first = search.get('first');
  const second = search.get('second');
  const query = useCampaignPareto(name, { first, second, job }, asOf);
  const [one, other] = query.data?.metrics ?? [first, second];
  return (
    <section
      className="panel"
      style={{ padding: '10px 14px' }}
      aria-label="Pareto front"
      aria-busy={query.isFetching}
    >
      <Group gap="sm" mb={4} align="flex-end">
        <Title order={2}>Pareto front</Title>
        <Axis
          label="Along"
          value={one}
          choices={choices}
          without={other}
          onChange={(first) => change({ first })}
        />
        <Axis
          label="Upwards"
          value={other}
          choices={choices}
          without={one}
          onChange={(second) => change({ second })}
        />
      </Group>
      <Loaded query={query} what="The Pareto front">
        {(told) => <Front told={told} factors={factors.map((factor) => factor.name)} choices={choices} />}
      </Loaded>
    </section>
  );
}

interface AxisProps {
  label: string;
  value: string | null;
  choices: Choice[];
  without: string | null;
  onChange: (metric: string | null) => void;
}

function Axis({ label, value, choices, without, onChange }: AxisProps) {
  return (
    <Select
      label={label}
      w={280}
      searchable
      allowDeselect={false}
      data={choices.filter((choice) => choice.value !== without)}
      value={value}
      onChange={onChange}
    />
  );
}

function Front({ told, factors, choices }: { told: CampaignPareto; factors: string[]; choices: Choice[] }) {
  const labels = told.metrics.map((name) => choices.find(({ value }) => value === name)?.label ?? name);
  return (
    <>
      <CaptionedChart figure={told} label={`Pareto front, ${labels.join(' and ')}`} />
      <Scrolled label="Settings of the front" most={360}>
        <table className="plain" aria-label="Settings of the front">
          <thead>
            <tr>
              {heads(factors).map((head, place) => (
                <th key={factors[place]} title={factors[place]}>
                  {head}
                </th>
              ))}
              {labels.map((label) => (
                <th key={label} className="right">
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {told.front.map((row) => (
              <tr key={factors.map((name) => row[name]).join()}>
                {factors.map((name) => (
                  <td key={name}>{row[name]}</td>
                ))}
                {told.metrics.map((name) => (
                  <td key={name} className="right num">
                    {significant(Number(row[name]), 5)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolled>
      {told.front_total > told.front.length ? (
        <Text size="sm" className="muted" mt={6}>
          And {counted(told.front_total - told.front.length)} more.
        </Text>
      ) : null}
    </>
  );
}
