import { SegmentedControl, Stack } from '@mantine/core';

import type { TrialDetail } from '../../api/types';
import { useSearch } from '../../components/useSearch';
import { RecordTable } from './RecordTable';
import { draws, type View } from './views';

/** The tables of a view, one at a time. */
export function TablesView({ trial, view }: { trial: TrialDetail; view: View }) {
  const { search, change } = useSearch();
  if (view.tables.length === 0) return null;
  const chosen = search.get('table');
  const table = view.tables.find((name) => name === chosen) ?? view.tables[0];
  if (table === undefined || trial.shown === null) return null;
  return (
    <Stack gap="xs">
      {view.tables.length > 1 ? (
        <SegmentedControl
          aria-label="Table"
          data={[...view.tables]}
          value={table}
          onChange={(name) => change({ table: name, sort: null, order: null, where: null })}
          style={{ alignSelf: 'start' }}
        />
      ) : null}
      <RecordTable key={table} trial={trial.id} table={table} tall={!draws(view.key)} />
    </Stack>
  );
}
