/** Column heading that sorts a table, with an arrow for the order, and the `aria-sort` value of an order. */
import type { ReactNode } from 'react';

export type Order = 'asc' | 'desc';

export function ariaSort(order: Order | null): 'none' | 'ascending' | 'descending' {
  return order === null ? 'none' : order === 'asc' ? 'ascending' : 'descending';
}

interface Props {
  title: ReactNode;
  /** Order of the table by this column; null if it is sorted by another. */
  order: Order | null;
  onSort: (order: Order) => void;
  children?: ReactNode;
}

/** First click sorts in descending order, the next in ascending order. */
export function SortButton({ title, order, onSort, children }: Props) {
  return (
    <button type="button" className="grid-sort" onClick={() => onSort(order === 'desc' ? 'asc' : 'desc')}>
      {title}
      {order === null ? '' : order === 'asc' ? ' ↑' : ' ↓'}
      {children}
    </button>
  );
}
