/** Table of measured results next to the expectation; results that fall short are coloured. */
import { Text, Title } from '@mantine/core';

import type { ResultTable } from '../../api/types';
import { DataTable, Scrolled, type TableColumn } from '../../components/table/DataTable';

type Row = ResultTable['rows'][number];

export function MeasuredTable({ table }: { table: ResultTable }) {
  const columns = table.columns.map(({ title, unit, is_text: isText }, index): TableColumn<Row> => ({
    title: headOf(title, unit),
    right: !isText,
    isHeading: index === 0,
    cell: ({ cells, tone }) => (
      <Text span inherit className={tone === 'bad' ? 'worse' : undefined}>
        {cells[index]}
      </Text>
    ),
  }));
  return (
    <section className="panel" aria-label="Results">
      <Title order={2} p="xs">
        Results
      </Title>
      <Scrolled label="Results" heightMax={420}>
        <DataTable label="Measured results" columns={columns} rows={table.rows} />
      </Scrolled>
    </section>
  );
}

function headOf(title: string, unit: string) {
  const name = title.charAt(0).toUpperCase() + title.slice(1);
  return unit === '' ? name : `${name} (${unit})`;
}
