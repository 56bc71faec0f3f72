/** Trials side by side: the parameters that differ, and every metric with its ratio to the first. */
import { Group, Stack, Switch, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';

import { useComparison } from '../../api/queries';
import type { Comparison } from '../../api/types';
import { Loaded } from '../../components/Loaded';
import { Empty } from '../../components/States';
import { useSearch } from '../../components/useSearch';
import { ComparedTable } from './ComparedTable';
import { TrialPicker } from './TrialPicker';
import { groups } from './groups';

export function Component() {
  useDocumentTitle('Compare · fabricbench');
  const { search, change } = useSearch();
  const ids = search.getAll('trial');
  const comparison = useComparison(ids);
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1}>Compare</Title>
        <Switch
          label="Only what differs"
          checked={search.has('differing')}
          onChange={(event) => change({ differing: event.currentTarget.checked ? 'true' : null })}
        />
      </Group>
      <TrialPicker ids={ids} onChange={(trial) => change({ trial })} />
      {ids.length < 2 ? (
        <Empty title="Choose two trials or more">
          Ratios are those to the first. Trials can be chosen here, or in the workspace.
        </Empty>
      ) : (
        <Loaded query={comparison} what="The comparison">
          {(data) => <Compared comparison={data} onlyDiffering={search.has('differing')} />}
        </Loaded>
      )}
    </Stack>
  );
}

function Compared({ comparison, onlyDiffering }: { comparison: Comparison; onlyDiffering: boolean }) {
  return (
    <Stack gap="sm">
      <Parameters comparison={comparison} />
      {groups(comparison).map((group) => (
        <ComparedTable key={group.key} group={group} onlyDiffering={onlyDiffering} />
      ))}
    </Stack>
  );
}

function Parameters({ comparison }: { comparison: Comparison }) {
  if (comparison.parameters.length === 0) {
    return (
      <Text size="sm" className="muted">
        No parameter differs.
      </Text>
    );
  }
  return (
    <section className="panel" style={{ overflowX: 'auto' }} aria-label="Parameters that differ">
      <table className="plain">
        <thead>
          <tr>
            <th>Parameter</th>
            {comparison.compared.map((id) => (
              <th key={id} className="mono">
                {id}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {comparison.parameters.map(({ field, values }) => (
            <tr key={field}>
              <th scope="row" className="mono" style={{ fontWeight: 400, verticalAlign: 'top' }}>
                {field}
              </th>
              {comparison.compared.map((id) => (
                <td key={id} className="wrapped">
                  {values[id] ?? '–'}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
