import { useCallback } from 'react';
import { useSearchParams } from 'react-router';

type Change = Record<string, string | readonly string[] | null>;

/** The query of the page's address: filters and choices live there, so that the address can be shared. */
export function useSearch() {
  const [search, setSearch] = useSearchParams();
  const change = useCallback(
    (values: Change) => setSearch((before) => changed(before, values), { replace: true }),
    [setSearch],
  );
  return { search, change };
}

/** Set names to values; null or nothing removes a name. */
export function changed(before: URLSearchParams, values: Change): URLSearchParams {
  const after = new URLSearchParams(before);
  for (const [name, value] of Object.entries(values)) {
    after.delete(name);
    const all = typeof value === 'string' ? [value] : (value ?? []);
    for (const one of all) if (one !== '') after.append(name, one);
  }
  return after;
}
