/** React hook with the selected trials: ids in the order of selection, a test, toggle and clear. */
import { useMemo, useState } from 'react';

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
