import { Stack, Text, Title } from '@mantine/core';
import { Link } from 'react-router';

import { useMetrics } from '../../api/queries';
import type { ComparedJob, Comparison } from '../../api/types';
import { MetricHead } from '../../components/table/MetricHead';
import { MetricValue } from '../../components/table/MetricCells';
import { dataSize } from '../../format/numbers';
import { Pair } from './ComparedTable';
import { kindsOf, type SizeKind, sizeMetrics } from './sizes';

/** Two runs side by side: a line for each size that both have. */
export function SizesTables({ comparison }: { comparison: Comparison }) {
  const [first = '', second = ''] = comparison.compared;
  return (
    <Stack gap="sm">
      <Text size="sm">
        <b>{first}</b> (1) and <b>{second}</b> (2); ratios are 2 to 1.
      </Text>
      {kindsOf(comparison).map((kind) => (
        <SizesTable key={kind.key} kind={kind} />
      ))}
      {comparison.note ? (
        <Text size="sm" className="muted">
          {comparison.note}
        </Text>
      ) : null}
    </Stack>
  );
}

function SizesTable({ kind }: { kind: SizeKind }) {
  const metrics = useMetrics();
  const names = sizeMetrics(metrics, kind.pairs);
  return (
    <section className="panel" style={{ overflowX: 'auto' }}>
      <Title order={2} p="xs">
        {kind.title}
      </Title>
      <table className="plain" aria-label={`Sizes, ${kind.title}`}>
        <MetricHead names={names} parts={['1', '2', 'ratio']}>
          <th rowSpan={2}>Data size</th>
        </MetricHead>
        <tbody>
          {kind.pairs.map((pair) => (
            <Row key={`${pair.first.id} ${pair.first.job}`} pair={pair} names={names} />
          ))}
        </tbody>
      </table>
    </section>
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
        <Cells key={name} pair={pair} name={name} />
      ))}
    </tr>
  );
}

function Cells({ pair, name }: { pair: ComparedJob; name: string }) {
  const metric = pair.metrics[name];
  return (
    <>
      <td className="right">
        <MetricValue value={metric?.first ?? null} />
      </td>
      <Pair metric={metric} />
    </>
  );
}
