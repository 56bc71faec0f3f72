/**
 * HTML table that renders all its rows, from declared columns (title, alignment, cell); TablePanel, a panel with a
 * heading around it; Scrolled, a region that scrolls by mouse and keyboard.
 */
import { Title } from '@mantine/core';
import type { ReactNode } from 'react';

export interface TableColumn<Row> {
  title: string;
  /** Identifies the column where titles may repeat; the title by default. */
  key?: string;
  /** Name of the column for screen readers if it has no title. */
  label?: string;
  /** Tooltip of the title. */
  hint?: string;
  /** Whether title and cells are aligned to the right, as numbers are. */
  right?: boolean;
  /** Classes of the cells: `num`, `mono`, `wrapped`. */
  className?: string;
  /** Whether the cells are headings of their rows. */
  isHeading?: boolean;
  /** Width of the title [px]. */
  width?: number;
  cell: (row: Row, index: number) => ReactNode;
}

interface Props<Row> {
  /** Name of the table for screen readers. */
  label?: string;
  columns: readonly TableColumn<Row>[];
  rows: readonly Row[];
  /** Key of a row; its index by default. */
  rowKey?: (row: Row, index: number) => string | number;
  /** Whether cells are aligned to the top of their row. */
  top?: boolean;
  /** Indices of highlighted rows. */
  selected?: readonly number[];
}

export function DataTable<Row>({
  label,
  columns,
  rows,
  rowKey = (_, index) => index,
  top = false,
  selected = [],
}: Props<Row>) {
  return (
    <table className="plain" aria-label={label}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th
              key={keyOf(column)}
              scope="col"
              title={column.hint}
              aria-label={column.label}
              className={column.right ? 'right' : undefined}
              style={column.width === undefined ? undefined : { width: column.width }}
            >
              {column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <tr
            key={rowKey(row, index)}
            aria-current={selected.includes(index) || undefined}
            style={top ? { verticalAlign: 'top' } : undefined}
          >
            {columns.map((column) => (
              <DataCell key={keyOf(column)} column={column}>
                {column.cell(row, index)}
              </DataCell>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function keyOf<Row>({ key, title }: TableColumn<Row>): string {
  return key ?? title;
}

function DataCell<Row>({ column, children }: { column: TableColumn<Row>; children: ReactNode }) {
  const classes =
    [column.right ? 'right' : '', column.className ?? ''].filter(Boolean).join(' ') || undefined;
  return column.isHeading ? (
    <th scope="row" className={classes} style={{ fontWeight: 400 }}>
      {children}
    </th>
  ) : (
    <td className={classes}>{children}</td>
  );
}

/** Panel that scrolls sideways, with an optional heading, for one table. */
export function TablePanel({ title, children }: { title?: ReactNode; children: ReactNode }) {
  return (
    <section className="panel" style={{ overflowX: 'auto' }}>
      {title === undefined ? null : (
        <Title order={2} p="xs">
          {title}
        </Title>
      )}
      {children}
    </section>
  );
}

interface ScrolledProps {
  label: string;
  /** Greatest height [px]. */
  heightMax?: number;
  children: ReactNode;
}

/** Region that mouse and keyboard scroll where its content is wider than the page or higher than `heightMax`. */
export function Scrolled({ label, heightMax, children }: ScrolledProps) {
  return (
    <div
      style={{ overflow: 'auto', maxHeight: heightMax }}
      role="region"
      aria-label={`${label}, scrolled`}
      tabIndex={0}
    >
      {children}
    </div>
  );
}
