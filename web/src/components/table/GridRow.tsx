import { type CSSProperties, memo } from 'react';

import type { GridColumn } from './Grid';

interface Props<Row> {
  columns: GridColumn<Row>[];
  /** The columns that are drawn: those from the first of these to before the second. */
  from: number;
  to: number;
  /** Undefined while the row is on its way. */
  row: Row | undefined;
  rowKey: string | undefined;
  index: number;
  /** Distance from the top of the body, and height [px]. */
  start: number;
  height: number;
  focused: boolean;
  template: CSSProperties;
  onFocus: (index: number) => void;
}

/** A row is drawn once; while a table scrolls, only those that come into sight are new. */
export const GridRow = memo(drawnRow) as typeof drawnRow;

function drawnRow<Row>(props: Props<Row>) {
  const { columns, from, to, row, index, template } = props;
  return (
    <div
      className="grid-row"
      role="row"
      aria-rowindex={index + 2}
      data-focused={props.focused}
      data-key={props.rowKey}
      style={{ ...template, height: props.height, transform: `translateY(${props.start}px)` }}
      onClick={() => props.onFocus(index)}
    >
      {columns.slice(from, to).map((column, place) => (
        <div
          key={column.key}
          role="cell"
          aria-colindex={from + place + 1}
          className={column.right ? 'grid-cell right' : 'grid-cell'}
          style={place === 0 && from > 0 ? { gridColumnStart: from + 1 } : undefined}
        >
          {row === undefined ? '…' : column.cell(row, index)}
        </div>
      ))}
    </div>
  );
}
