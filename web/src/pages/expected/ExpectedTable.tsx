/** Table of an expected curve: NCCL's choice, time, bus bandwidth, ideal, bound and limit at each data size. */
import { Text } from '@mantine/core';

import type { ExpectedCurve, ExpectedRow } from '../../api/types';
import { DataTable, Scrolled, type TableColumn } from '../../components/table/DataTable';
import { dataSize, fixed, MISSING, significant } from '../../format/numbers';

export function ExpectedTable({ curve }: { curve: ExpectedCurve }) {
  const hasRange = curve.seeds > 1;
  const columns: TableColumn<ExpectedRow>[] = [
    { title: 'Data size', right: true, isHeading: true, cell: (row) => dataSize(row.data_size_bytes) },
    { title: 'Algorithm', cell: (row) => row.algorithm ?? MISSING },
    { title: 'Protocol', cell: (row) => row.protocol },
    { title: 'Channels', right: true, cell: (row) => row.channels },
    { title: 'Time (us)', right: true, cell: (row) => marked(row, row.time_us) },
    ...(hasRange ? [busbw('least', (row) => row.busbw_gb_per_s_least)] : []),
    busbw(hasRange ? 'median' : '', (row) => row.busbw_gb_per_s_median),
    ...(hasRange ? [busbw('most', (row) => row.busbw_gb_per_s_most)] : []),
    { title: 'Ideal (%)', right: true, cell: (row) => fixed(row.ideal_percent, 1) },
    { title: 'Bound', cell: boundText },
    { title: 'Gain if lifted (%)', right: true, cell: (row) => fixed(gainPercent(row), 0) },
    { title: 'Accept from (GB/s)', right: true, cell: (row) => significant(row.accept_busbw_gb_per_s) },
  ];
  return (
    <section className="panel" aria-label="Sizes">
      <Scrolled label="Expected results by size">
        <DataTable label="Expected results by size" columns={columns} rows={curve.expected} />
      </Scrolled>
      {curve.legend.map((line) => (
        <Text key={line} size="xs" className="muted" px="sm" py={2}>
          {line}
        </Text>
      ))}
    </section>
  );
}

function busbw(part: string, value: (row: ExpectedRow) => number): TableColumn<ExpectedRow> {
  return {
    title: part === '' ? 'busbw (GB/s)' : `busbw, ${part} (GB/s)`,
    right: true,
    cell: (row) => marked(row, value(row)),
  };
}

/** A value, marked where no trial of its size has run. */
function marked(row: ExpectedRow, value: number) {
  return `${row.computed ? '' : '~'}${significant(value)}`;
}

function boundText(row: ExpectedRow) {
  if (row.bound === null) return 'none alone';
  return row.bound_certain ? row.bound : `${row.bound} (possible)`;
}

function gainPercent(row: ExpectedRow) {
  const gains = [row.gain_adapter, row.gain_latency, row.gain_scale_up, row.gain_step_cost, row.gain_uplinks];
  return 100 * Math.max(0, ...gains.filter((gain) => gain !== undefined));
}
