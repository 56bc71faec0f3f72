/**
 * Tables of two runs compared by data size: a row for each size that both have, with the metrics of both and their
 * ratio.
 */
import { Stack, Text } from '@mantine/core';
import { Fragment } from 'react';
import { Link } from 'react-router';

import { useMetrics } from '../../api/queries';
import type { ComparedJob, Comparison } from '../../api/types';
import { TablePanel } from '../../components/table/DataTable';
import { MetricCell, MetricHead } from '../../components/table/MetricCells';
import { dataSize } from '../../format/numbers';
import { PairCells } from './ComparedTable';
import { type SizeTable, sizeMetrics, sizeTables } from './sizes';

export function SizesTables({ comparison }: { comparison: Comparison }) {
  const [first = '', second = ''] = comparison.compared;
  return (
    <Stack gap="sm">
      <Text size="sm">
        <b>{first}</b> (1) and <b>{second}</b> (2); ratios are 2 to 1.
      </Text>
      {sizeTables(comparison).map((table) => (
        <SizesTable key={table.title} table={table} />
      ))}
      {comparison.note ? (
        <Text size="sm" className="muted">
          {comparison.note}
        </Text>
      ) : null}
    </Stack>
  );
}

function SizesTable({ table: { title, pairs } }: { table: SizeTable }) {
  const metrics = useMetrics();
  const names = sizeMetrics(metrics, pairs);
  return (
    <TablePanel title={title}>
      <table className="plain" aria-label={`Sizes, ${title}`}>
        <MetricHead names={names} parts={['1', '2', 'ratio']}>
          <th rowSpan={2}>Data size</th>
        </MetricHead>
        <tbody>
          {pairs.map((pair) => (
            <Row key={`${pair.first.id} ${pair.first.job}`} pair={pair} names={names} />
          ))}
        </tbody>
      </table>
    </TablePanel>
  );
}

function Row({ pair, names }: { pair: ComparedJob; names: readonly string[] }) {
  const { first, second } = pair;
  return (
    <tr>
      <th scope="row" style={{ fontWeight: 400 }}>
        {dataSize(first.data_size_bytes)}
        {first.iteration > 0 ? ` #${first.iteration}` : ''} <Link to={`/trials/${first.id}`}>1</Link>{' '}
        <Link to={`/trials/${second.id}`}>2</Link>
      </th>
      {names.map((name) => (
        <Fragment key={name}>
          <MetricCell value={pair.metrics[name]?.first} />
          <PairCells metric={pair.metrics[name]} />
        </Fragment>
      ))}
    </tr>
  );
}
