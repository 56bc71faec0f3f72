/**
 * Comparison of a measured run with the simulator's prediction of each trial: chart; table of completion times and
 * bandwidths with deviation and its likely causes; deviation fitted over data sizes (constant and proportional part).
 */
import { Stack, Text } from '@mantine/core';
import { Fragment } from 'react';
import { Link } from 'react-router';

import { useFigures, useMetrics, useTwins } from '../api/queries';
import type { Twin, TwinSide } from '../api/types';
import { metricLabel } from '../format/metrics';
import { significant } from '../format/numbers';
import { FigurePanel } from './chart/FigurePanel';
import { Loaded } from './QueryStates';
import { TablePanel } from './table/DataTable';
import { MetricCell, MetricHead } from './table/MetricCells';

const METRICS = ['completion_time_ms', 'algbw_gb_per_s', 'busbw_gb_per_s'] as const;

export function TwinTables({ trial }: { trial: string }) {
  const twins = useTwins(trial);
  return (
    <Loaded query={twins} name="The prediction">
      {(data) => (
        <Stack gap="sm">
          <TwinFigure trial={trial} />
          <TablePanel title="Measured and predicted">
            <TwinTable twins={data.twins} />
          </TablePanel>
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
      <MetricHead names={METRICS} parts={['measured', 'predicted']}>
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
  const notes = twin.missing === null ? twin.causes.map(({ text }) => text) : [twin.missing];
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
        {notes.map((text) => (
          <div key={text}>{text}</div>
        ))}
      </td>
      {METRICS.map((name) => (
        <Fragment key={name}>
          <MetricCell value={twin.measured[name]} title={`${metricLabel(metrics, name)}, measured`} />
          <MetricCell value={twin.predicted?.[name]} title={`${metricLabel(metrics, name)}, predicted`} />
        </Fragment>
      ))}
    </tr>
  );
}

function Side({ side }: { side: TwinSide }) {
  return <Link to={`/trials/${side.id}`}>{side.backend}</Link>;
}

function signed(value: number): string {
  return `${value >= 0 ? '+' : '−'}${significant(Math.abs(value), 3)}`;
}
