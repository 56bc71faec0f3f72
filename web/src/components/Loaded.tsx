import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { Failure, Loading } from './QueryStates';

interface Props<T> {
  query: UseQueryResult<T>;
  what: string;
  children: (data: T) => ReactNode;
}

/** Shows what a query brought, or that it is on its way, or why it failed. */
export function Loaded<T>({ query, what, children }: Props<T>) {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.isError) return <Failure error={query.error} what={what} retry={() => void query.refetch()} />;
  return <Loading what={`Loading ${what.toLowerCase()}`} />;
}
