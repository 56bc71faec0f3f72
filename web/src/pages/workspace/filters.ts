/**
 * Filters, sort order and layout of the list of trials: reads them from the page's URL, builds the server's query and
 * the settings of a saved view.
 */
import type { TrialFilter } from '../../api/queries';
import type { Sorting } from '../../components/table/Grid';

type SortKey = NonNullable<TrialFilter['sort']>;

export const LISTS = ['plan', 'tag', 'status', 'variant', 'backend'] as const;
export type ListName = (typeof LISTS)[number];

/** Other filters, and parameters of the display; each has one value in the URL. */
const OTHERS = ['search', 'suite', 'job', 'deleted'] as const;
const DISPLAY = ['sort', 'order', 'view'] as const;

/** Filters, order and layout of a list, as the server stores them in a saved view. */
export type ViewSettings = Record<string, string | string[]>;

const none = (names: readonly string[]): Record<string, null> =>
  Object.fromEntries(names.map((name) => [name, null]));

/** Parameters that remove all filters. */
export const NO_FILTERS = none([...LISTS, ...OTHERS, 'where']);

/** Parameters that remove filters, order and layout. */
export const NO_SETTINGS = { ...NO_FILTERS, ...none(DISPLAY) };

export function viewSettings(search: URLSearchParams): ViewSettings {
  const settings: ViewSettings = {};
  for (const name of [...LISTS, ...OTHERS, ...DISPLAY]) {
    const value = search.get(name);
    if (value) settings[name] = value;
  }
  const where = search.getAll('where');
  if (where.length > 0) settings.where = where;
  return settings;
}

export function sameSettings(one: ViewSettings, other: ViewSettings): boolean {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every((name) => String(one[name]) === String(other[name]));
}

const NEWEST_FIRST: Sorting = { key: 'started_at', order: 'desc' };

export function sortingOf(search: URLSearchParams): Sorting {
  const key = search.get('sort');
  if (key === null) return NEWEST_FIRST;
  return { key, order: search.get('order') === 'asc' ? 'asc' : 'desc' };
}

/** Parameters of the request for the list. */
export function filterOf(search: URLSearchParams): TrialFilter {
  const { key, order } = sortingOf(search);
  const filter: TrialFilter = { sort: key as SortKey, order };
  const text = search.get('search');
  if (text) filter.search = text;
  for (const name of [...LISTS, 'suite', 'job'] as const) {
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

/** Whether the list shows trials instead of runs. */
export function isTrialList(search: URLSearchParams): boolean {
  return search.get('view') === 'trials';
}
