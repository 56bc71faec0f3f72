/**
 * React hook that loads a long list page by page as rows become visible; returns the first page, total, rows by
 * index, error and refetch.
 */
import { useQueries } from '@tanstack/react-query';
import { useCallback, useState } from 'react';

const PAGE = 200;
/** Rows loaded before and after the visible ones. */
const MARGIN = 60;

interface Page<Row> {
  total: number;
  rows: Row[];
}

export function usePages<Answer, Row>(
  key: readonly unknown[],
  load: (offset: number, limit: number, signal: AbortSignal) => Promise<Answer>,
  take: (answer: Answer) => Page<Row>,
  refreshMs: number | false = false,
) {
  const [numbers, setNumbers] = useState<readonly number[]>([0]);
  const queries = useQueries({
    queries: numbers.map((number) => ({
      queryKey: [...key, number],
      queryFn: ({ signal }: { signal: AbortSignal }) => load(number * PAGE, PAGE, signal),
      refetchInterval: refreshMs,
      placeholderData: samePage<Answer>(number),
      staleTime: 30_000,
    })),
  });
  const answers = new Map(numbers.map((number, index) => [number, queries[index]?.data]));
  const first = queries.find((query) => query.data !== undefined)?.data;
  const onVisible = useCallback((from: number, to: number) => {
    const next = pageNumbers(from - MARGIN, to + MARGIN);
    setNumbers((before) => (before.join() === next.join() ? before : next));
  }, []);
  const rowAt = (index: number): Row | undefined => {
    const answer = answers.get(Math.floor(index / PAGE));
    return answer === undefined ? undefined : take(answer).rows[index % PAGE];
  };
  return {
    first,
    total: first === undefined ? undefined : take(first).total,
    rowAt,
    onVisible,
    error: queries.find((query) => query.isError && query.data === undefined)?.error ?? null,
    refetch: () => void Promise.all(queries.map((query) => query.refetch())),
  };
}

/** Keeps the previous rows visible while a filter or the order changes. */
function samePage<Answer>(number: number) {
  return (before: Answer | undefined, from: { queryKey: readonly unknown[] } | undefined) =>
    from?.queryKey.at(-1) === number ? before : undefined;
}

/** Numbers of the pages with rows `first` to `last`, and of the first page, which has the total. */
export function pageNumbers(first: number, last: number): number[] {
  const from = Math.floor(Math.max(0, first) / PAGE);
  const to = Math.floor(Math.max(0, last) / PAGE);
  const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  return from === 0 ? numbers : [0, ...numbers];
}
