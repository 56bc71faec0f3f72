import { Stack, Text, Title } from '@mantine/core';
import { Link } from 'react-router';

import { useFigures, useMetrics, useTwins } from '../api/queries';
import type { Twin, TwinSide } from '../api/types';
import { metricLabel } from '../format/metrics';
import { significant } from '../format/numbers';
import { FigurePanel } from './chart/FigurePanel';
import { Loaded } from './Loaded';
import { MetricHead } from './table/MetricHead';
import { MetricValue } from './table/MetricCells';

const SHOWN = ['completion_time_ms', 'algbw_gb_per_s', 'busbw_gb_per_s'] as const;

/** A measured run beside what the simulator predicts of it: chart, values, deviation and likely causes. */
export function TwinTables({ trial }: { trial: string }) {
  const twins = useTwins(trial);
  return (
    <Loaded query={twins} what="The prediction">
      {(data) => (
        <Stack gap="sm">
          <TwinFigure trial={trial} />
          <section className="panel" style={{ overflowX: 'auto' }}>
            <Title order={2} p="xs">
              Measured and predicted
            </Title>
            <TwinTable twins={data.twins} />
          </section>
          {data.trends.map((trend) => (
            <Text key={`${trend.variant} ${trend.job}`} size="sm">
              Job {trend.job}: {signed(1000 * trend.fixed_ms)} us at every size and{' '}
              {signed(trend.rate_percent)} % in proportion to the predicted time, within{' '}
              {significant(trend.residual_percent, 2)} %.
            </Text>
          ))}
        </Stack>
      )}
    </Loaded>
  );
}

function TwinFigure({ trial }: { trial: string }) {
  const figures = useFigures(trial);
  const figure = figures.data?.figures.find(({ name }) => name === 'twin');
  return figure === undefined ? null : <FigurePanel trial={trial} figure={figure} jobs={[]} />;
}

function TwinTable({ twins }: { twins: readonly Twin[] }) {
  return (
    <table className="plain" aria-label="Measured and predicted">
      <MetricHead names={SHOWN} parts={['measured', 'predicted']}>
        <th rowSpan={2}>Size</th>
        <th rowSpan={2} className="right">
          Deviation
        </th>
        <th rowSpan={2}>Likely causes</th>
      </MetricHead>
      <tbody>
        {twins.map((twin) => (
          <Row key={`${twin.measured.id} ${twin.job}`} twin={twin} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ twin }: { twin: Twin }) {
  const metrics = useMetrics();
  const told = twin.missing === null ? twin.causes.map(({ text }) => text) : [twin.missing];
  return (
    <tr style={{ verticalAlign: 'top' }}>
      <th scope="row" style={{ fontWeight: 400 }}>
        {twin.variant === 'base' ? '' : `${twin.variant}, `}
        {twin.job}, {twin.size} <Side side={twin.measured} />{' '}
        {twin.predicted === null ? null : <Side side={twin.predicted} />}
      </th>
      <td className="right">
        {twin.deviation_percent === null ? '–' : `${signed(twin.deviation_percent)} %`}
      </td>
      <td className="wrapped">
        {told.map((text) => (
          <div key={text}>{text}</div>
        ))}
      </td>
      {SHOWN.map((name) => (
        <Values key={name} twin={twin} name={name} label={metricLabel(metrics, name)} />
      ))}
    </tr>
  );
}

function Side({ side }: { side: TwinSide }) {
  return <Link to={`/trials/${side.id}`}>{side.backend}</Link>;
}

function Values({ twin, name, label }: { twin: Twin; name: (typeof SHOWN)[number]; label: string }) {
  return (
    <>
      <td className="right" title={`${label}, measured`}>
        <MetricValue value={twin.measured[name]} />
      </td>
      <td className="right" title={`${label}, predicted`}>
        <MetricValue value={twin.predicted?.[name] ?? null} />
      </td>
    </>
  );
}

function signed(value: number): string {
  return `${value >= 0 ? '+' : '−'}${significant(Math.abs(value), 3)}`;
}
