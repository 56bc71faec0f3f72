/**
 * React hook that reads and changes the query parameters of the page's URL. They store filters and selections, so
 * that a link opens the same view.
 */
import { useCallback } from 'react';
import { useSearchParams } from 'react-router';

type Change = Record<string, string | readonly string[] | null>;

export function useSearch() {
  const [search, setSearch] = useSearchParams();
  const change = useCallback(
    (values: Change) => setSearch((before) => changed(before, values), { replace: true }),
    [setSearch],
  );
  return { search, change };
}

/** Sets parameters; null and empty values remove them. */
export function changed(before: URLSearchParams, values: Change): URLSearchParams {
  const after = new URLSearchParams(before);
  for (const [name, value] of Object.entries(values)) {
    after.delete(name);
    const all = typeof value === 'string' ? [value] : (value ?? []);
    for (const item of all) if (item !== '') after.append(name, item);
  }
  return after;
}
