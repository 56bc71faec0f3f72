/** The workspace's filters, as they stand in the address. */
import type { TrialFilter } from '../../api/queries';
import type { Sorting } from '../../components/table/Grid';

export const LISTS = ['plan', 'tag', 'status', 'variant', 'backend'] as const;
export type ListName = (typeof LISTS)[number];

/** Filters beside the lists to choose from, and how the list is shown: each a text in the address. */
const OTHERS = ['search', 'suite', 'job', 'deleted'] as const;
const SHOWN = ['sort', 'order', 'view'] as const;

export type Asked = Record<string, string | string[]>;

const none = (names: readonly string[]): Record<string, null> =>
  Object.fromEntries(names.map((name) => [name, null]));

/** What takes every filter away. */
export const NO_FILTERS = none([...LISTS, ...OTHERS, 'where']);

/** The same with the order and the layout. */
export const NOTHING_ASKED = { ...NO_FILTERS, ...none(SHOWN) };

/** What the address asks for, as a saved view keeps it. */
export function askedOf(search: URLSearchParams): Asked {
  const asked: Asked = {};
  for (const name of [...LISTS, ...OTHERS, ...SHOWN]) {
    const value = search.get(name);
    if (value) asked[name] = value;
  }
  const where = search.getAll('where');
  if (where.length > 0) asked.where = where;
  return asked;
}

export function sameAsked(one: Asked, other: Asked): boolean {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every((name) => String(one[name]) === String(other[name]));
}

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
  for (const name of ['suite', 'job'] as const) {
    const value = search.get(name);
    if (value) filter[name] = value;
  }
  const where = search.getAll('where');
  if (where.length > 0) filter.where = where;
  if (search.has('deleted')) filter.deleted = true;
  return filter;
}

export function isFiltered(search: URLSearchParams): boolean {
  return Object.keys(NO_FILTERS).some((name) => search.has(name));
}

/** Whether trials are listed one by one, and not by run. */
export function isFlat(search: URLSearchParams): boolean {
  return search.get('view') === 'trials';
}
