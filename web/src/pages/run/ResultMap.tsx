/**
 * Table of one metric over two dimensions of a run; the colour of a cell follows its value, and a click opens its
 * trial.
 */
import { Title } from '@mantine/core';
import { Link } from 'react-router';

import type { Metric, RunMap, RunMapCell } from '../../api/types';
import { Scrolled } from '../../components/table/DataTable';
import { metricText, scaled, type ShownUnit, titleWithUnit, unitFor } from '../../format/metrics';
import { MISSING } from '../../format/numbers';
import { fieldTitle } from '../../format/sweep';

interface Props {
  map: RunMap;
  metric: Metric;
}

export function ResultMap({ map, metric }: Props) {
  const values = map.cells.flat().flatMap((cell) => (cell?.value == null ? [] : [cell.value]));
  const range =
    metric.unit === '%' ? ([0, 100] as const) : ([Math.min(...values), Math.max(...values)] as const);
  const shown = unitFor(metric, values);
  const title = titleWithUnit(metric.title, shown.unit);
  const name = [title, map.about].filter(Boolean).join(', ');
  return (
    <Scrolled label={name}>
      <Title order={3} mb={4}>
        {name}
      </Title>
      <table className="heat" aria-label={name}>
        <thead>
          <tr>
            <td />
            <th colSpan={map.columns.length} className="muted" scope="colgroup" title={map.column_title}>
              {fieldTitle(map.column_title)}
            </th>
          </tr>
          <tr>
            <th className="muted" scope="col" title={map.row_title}>
              {fieldTitle(map.row_title)}
            </th>
            {map.columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {map.rows.map((row, index) => (
            <tr key={row}>
              <th scope="row">{row}</th>
              {map.columns.map((column, place) => (
                <Cell
                  key={column}
                  cell={map.cells[index]?.[place] ?? null}
                  metric={metric}
                  shown={shown}
                  range={range}
                  about={`${row}, ${column}`}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolled>
  );
}

interface CellProps {
  cell: RunMapCell | null;
  metric: Metric;
  shown: ShownUnit;
  range: readonly [number, number];
  about: string;
}

function Cell({ cell, metric, shown, range, about }: CellProps) {
  if (cell === null) return <td />;
  const text =
    cell.value === null
      ? cell.status === 'complete'
        ? MISSING
        : cell.status
      : metricText(scaled(cell.value, shown), metric);
  const verdict = cell.verdict === 'fail' ? ', a criterion is not met' : '';
  return (
    <td style={{ background: background(cell.value, metric, range) }}>
      <Link to={`/trials/${cell.trial}`} title={`${about}: ${text} ${shown.unit}${verdict}`}>
        {text}
        {cell.verdict === 'fail' ? ' ✕' : ''}
      </Link>
    </td>
  );
}

/** From orange (worst) over yellow to green (best); none without a value. */
function background(value: number | null, { direction }: Metric, [low, high]: readonly [number, number]) {
  if (value === null) return undefined;
  const position = high > low ? (value - low) / (high - low) : 1;
  const goodness = Math.min(1, Math.max(0, direction === 'lower' ? 1 - position : position));
  const hue = 25 + 130 * goodness;
  return `color-mix(in oklab, oklch(0.7 0.14 ${hue.toFixed(0)}) 38%, var(--panel))`;
}
