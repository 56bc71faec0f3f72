/** A table that draws only the rows in sight: a million rows scroll as quickly as a hundred. */
import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type CSSProperties,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';

import { useColumnWindow } from './columnWindow';
import { ariaSort, SortButton } from './SortButton';
import { GridRow } from './GridRow';

export interface GridColumn<Row> {
  key: string;
  title: ReactNode;
  /** Stands below the title. */
  unit?: string | undefined;
  /** What the heading's tooltip says, such as the unit and the meaning. */
  hint?: string | undefined;
  width: number | string;
  right?: boolean;
  sortable?: boolean;
  cell: (row: Row, index: number) => ReactNode;
}

export interface Sorting {
  key: string;
  order: 'asc' | 'desc';
}

interface Props<Row> {
  label: string;
  columns: GridColumn<Row>[];
  total: number;
  /** The row at a place, or undefined while it is on its way. */
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
              from={shown.from}
              to={shown.to}
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

function useVisible(first: number | undefined, last: number | undefined, tell: Props<unknown>['onVisible']) {
  const latest = useRef(tell);
  useEffect(() => {
    latest.current = tell;
  });
  useEffect(() => {
    if (first !== undefined && last !== undefined) latest.current?.(first, last);
  }, [first, last]);
}

function onKey<Row>(event: KeyboardEvent, props: Props<Row>, focused: number, move: (to: number) => void) {
  if (event.target !== event.currentTarget) return;
  const page = Math.max(1, Math.floor(event.currentTarget.clientHeight / (props.rowHeight ?? 28)) - 2);
  const places: Record<string, number> = {
    ArrowDown: focused + 1,
    ArrowUp: focused - 1,
    PageDown: focused + page,
    PageUp: focused - page,
    Home: 0,
    End: props.total - 1,
  };
  const place = places[event.key];
  const row = focused >= 0 ? props.rowAt(focused) : undefined;
  if (place !== undefined) move(place);
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
