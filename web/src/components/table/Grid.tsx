/**
 * Table for thousands of rows, of which only the visible rows and columns are rendered; sorts by headings, moves the
 * focus by keyboard, opens and selects rows.
 */
import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type CSSProperties,
  type KeyboardEvent,
  memo,
  type ReactNode,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';

import { type ColumnWindow, useColumnWindow } from './columnWindow';
import { ariaSort, type Order, SortButton } from './SortButton';

export interface GridColumn<Row> {
  key: string;
  title: ReactNode;
  /** Shown below the title. */
  unit?: string | undefined;
  /** Tooltip of the heading, such as the unit and the meaning. */
  hint?: string | undefined;
  width: number | string;
  right?: boolean;
  sortable?: boolean;
  cell: (row: Row, index: number) => ReactNode;
}

export interface Sorting {
  key: string;
  order: Order;
}

interface Props<Row> {
  label: string;
  columns: GridColumn<Row>[];
  total: number;
  /** Undefined while the row is loading. */
  rowAt: (index: number) => Row | undefined;
  rowKey?: (row: Row) => string;
  height: number | string;
  rowHeight?: number;
  sorting?: Sorting | null;
  onSort?: (sorting: Sorting) => void;
  onVisible?: (first: number, last: number) => void;
  onOpen?: (row: Row) => void;
  onSpace?: (row: Row) => void;
}

export function Grid<Row>(props: Props<Row>) {
  const { columns, total, rowHeight = 28 } = props;
  const box = useRef<HTMLDivElement>(null);
  const [focused, setFocused] = useState(-1);
  const virtualizer = useVirtualizer({
    count: total,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 8,
  });
  const shown = useColumnWindow(
    box,
    columns.map((column) => column.width),
  );
  const items = virtualizer.getVirtualItems();
  useVisible(items[0]?.index, items.at(-1)?.index, props.onVisible);
  const template: CSSProperties = useMemo(
    () => ({ gridTemplateColumns: columns.map((column) => widthOf(column.width)).join(' ') }),
    [columns],
  );
  const move = (to: number) => {
    const next = Math.max(0, Math.min(total - 1, to));
    setFocused(next);
    virtualizer.scrollToIndex(next);
  };
  return (
    <div
      ref={box}
      className="grid"
      role="table"
      aria-label={props.label}
      aria-rowcount={total + 1}
      aria-colcount={columns.length}
      tabIndex={0}
      style={{ height: props.height }}
      onKeyDown={(event) => onKey(event, props, focused, move)}
    >
      <Head columns={columns} template={template} sorting={props.sorting ?? null} onSort={props.onSort} />
      <div
        className="grid-body"
        role="rowgroup"
        style={{ height: virtualizer.getTotalSize(), position: 'relative' }}
      >
        {items.map((item) => {
          const row = props.rowAt(item.index);
          return (
            <GridRow
              key={item.key}
              columns={columns}
              shown={shown}
              row={row}
              rowKey={row === undefined ? undefined : props.rowKey?.(row)}
              index={item.index}
              start={item.start}
              height={item.size}
              focused={item.index === focused}
              template={template}
              onFocus={setFocused}
            />
          );
        })}
      </div>
    </div>
  );
}

interface RowProps<Row> {
  columns: GridColumn<Row>[];
  shown: ColumnWindow;
  /** Undefined while the row is loading. */
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

/** Memoised: while a table scrolls, only rows that become visible are rendered. */
const GridRow = memo(RenderedRow) as typeof RenderedRow;

function RenderedRow<Row>({ columns, shown, row, index, template, ...props }: RowProps<Row>) {
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
      {columns.slice(shown.from, shown.to).map((column, offset) => (
        <div
          key={column.key}
          role="cell"
          aria-colindex={shown.from + offset + 1}
          className={column.right ? 'grid-cell right' : 'grid-cell'}
          style={offset === 0 && shown.from > 0 ? { gridColumnStart: shown.from + 1 } : undefined}
        >
          {row === undefined ? '…' : column.cell(row, index)}
        </div>
      ))}
    </div>
  );
}

type OnVisible = Props<unknown>['onVisible'];

/** Reports the visible rows when they change. */
function useVisible(first: number | undefined, last: number | undefined, onVisible: OnVisible) {
  const latest = useRef(onVisible);
  useEffect(() => {
    latest.current = onVisible;
  });
  useEffect(() => {
    if (first !== undefined && last !== undefined) latest.current?.(first, last);
  }, [first, last]);
}

function onKey<Row>(event: KeyboardEvent, props: Props<Row>, focused: number, move: (to: number) => void) {
  if (event.target !== event.currentTarget) return;
  const page = Math.max(1, Math.floor(event.currentTarget.clientHeight / (props.rowHeight ?? 28)) - 2);
  const targets: Record<string, number> = {
    ArrowDown: focused + 1,
    ArrowUp: focused - 1,
    PageDown: focused + page,
    PageUp: focused - page,
    Home: 0,
    End: props.total - 1,
  };
  const target = targets[event.key];
  const row = focused >= 0 ? props.rowAt(focused) : undefined;
  if (target !== undefined) move(target);
  else if (event.key === 'Enter' && row !== undefined) props.onOpen?.(row);
  else if (event.key === ' ' && row !== undefined) props.onSpace?.(row);
  else return;
  event.preventDefault();
}

interface HeadProps<Row> {
  columns: GridColumn<Row>[];
  template: CSSProperties;
  sorting: Sorting | null;
  onSort: ((sorting: Sorting) => void) | undefined;
}

function Head<Row>({ columns, template, sorting, onSort }: HeadProps<Row>) {
  return (
    <div className="grid-row grid-head" role="row" style={{ ...template, height: headHeight(columns) }}>
      {columns.map((column) => {
        const order = sorting?.key === column.key ? sorting.order : null;
        return (
          <div
            key={column.key}
            role="columnheader"
            aria-sort={column.sortable ? ariaSort(order) : undefined}
            title={column.hint}
            className={column.right ? 'grid-cell right' : 'grid-cell'}
          >
            {column.sortable && onSort ? (
              <SortButton
                title={column.title}
                order={order}
                onSort={(next) => onSort({ key: column.key, order: next })}
              >
                <Unit unit={column.unit} />
              </SortButton>
            ) : (
              <b>
                {column.title}
                <Unit unit={column.unit} />
              </b>
            )}
          </div>
        );
      })}
    </div>
  );
}

function Unit({ unit }: { unit: string | undefined }) {
  return unit === undefined ? null : <span className="grid-unit">{unit}</span>;
}

function headHeight<Row>(columns: GridColumn<Row>[]) {
  return columns.some((column) => column.unit !== undefined) ? 40 : 30;
}

function widthOf(width: number | string) {
  return typeof width === 'number' ? `${width}px` : width;
}
