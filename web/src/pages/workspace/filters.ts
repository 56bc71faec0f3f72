/** The workspace's filters, as they stand in the address. */
import type { TrialFilter } from '../../api/queries';
import type { Sorting } from '../../components/Grid';

export const LISTS = ['plan', 'tag', 'status', 'variant', 'backend'] as const;
export type ListName = (typeof LISTS)[number];

const NEWEST_FIRST: Sorting = { key: 'started_at', order: 'desc' };

export function sortingOf(search: URLSearchParams): Sorting {
  const key = search.get('sort');
  if (key === null) return NEWEST_FIRST;
  return { key, order: search.get('order') === 'asc' ? 'asc' : 'desc' };
}

/** What the server is asked for. */
export function filterOf(search: URLSearchParams): TrialFilter {
  const { key, order } = sortingOf(search);
  const filter: TrialFilter = { sort: key, order };
  const text = search.get('search');
  if (text) filter.search = text;
  for (const name of LISTS) {
    const value = search.get(name);
    if (value) filter[name] = value;
  }
  const suite = search.get('suite');
  if (suite) filter.suite = suite;
  if (search.has('deleted')) filter.deleted = true;
  return filter;
}

export function isFiltered(search: URLSearchParams): boolean {
  return (
    search.has('search') ||
    search.has('suite') ||
    search.has('deleted') ||
    LISTS.some((name) => search.has(name))
  );
}

/** Whether trials are listed one by one, and not by run. */
export function isFlat(search: URLSearchParams): boolean {
  return search.get('view') === 'trials';
}
