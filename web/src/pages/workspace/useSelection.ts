import { useMemo, useState } from 'react';

/** Ids that are chosen, in the order in which they were. */
export function useSelection() {
  const [ids, setIds] = useState<readonly string[]>([]);
  return useMemo(
    () => ({
      ids,
      has: (id: string) => ids.includes(id),
      toggle: (id: string) =>
        setIds((before) => (before.includes(id) ? before.filter((other) => other !== id) : [...before, id])),
      clear: () => setIds([]),
    }),
    [ids],
  );
}
