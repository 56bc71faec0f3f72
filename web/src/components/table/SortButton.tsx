import type { ReactNode } from 'react';

export type Order = 'asc' | 'desc';

/** The order of a column as its heading tells it. */
export function ariaSort(order: Order | null): 'none' | 'ascending' | 'descending' {
  return order === null ? 'none' : order === 'asc' ? 'ascending' : 'descending';
}

interface Props {
  title: ReactNode;
  /** How the table is ordered by the column; null if it is by another. */
  order: Order | null;
  onSort: (order: Order) => void;
  children?: ReactNode;
}

/** The heading of a column by which a table can be ordered: the largest first, then the smallest. */
export function SortButton({ title, order, onSort, children }: Props) {
  return (
    <button type="button" className="grid-sort" onClick={() => onSort(order === 'desc' ? 'asc' : 'desc')}>
      {title}
      {order === null ? '' : order === 'asc' ? ' ↑' : ' ↓'}
      {children}
    </button>
  );
}
