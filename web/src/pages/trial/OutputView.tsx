import { Button, Code, Group, Paper, Text, Title } from '@mantine/core';
import { Link } from 'react-router';

import { useShippedPlans } from '../../api/queries';
import type { TrialDetail } from '../../api/types';
import { Empty } from '../../components/QueryStates';
import type { View } from './views';

/** In place of the plan of a measured trial: what its benchmark printed. */
export function OutputView({ trial }: { trial: TrialDetail }) {
  const plans = useShippedPlans().data?.plans ?? [];
  const isKnown = plans.some(({ name, error }) => name === trial.plan && error === '');
  return (
    <Paper withBorder p="sm">
      <Group justify="space-between" mb={6}>
        <Title order={2}>Output of the benchmark</Title>
        {isKnown ? (
          <Button component={Link} to={`/configure?plan=${trial.plan}`} variant="default">
            Simulate with {trial.plan}
          </Button>
        ) : null}
      </Group>
      <Text size="sm" className="muted" mb={6}>
        Read by {trial.engine_version}.
      </Text>
      <Code block style={{ maxHeight: 'calc(100vh - 260px)', overflow: 'auto' }}>
        {trial.plan_source}
      </Code>
    </Paper>
  );
}

/** What stands in place of a view of tables that the record does not hold. */
export function NotMeasured({ trial, view }: { trial: TrialDetail; view: View }) {
  const held = Object.keys(trial.observed);
  const tables = held.length === 0 ? 'no table at all' : `the tables ${held.join(', ')} alone`;
  return (
    <Empty title="Not measured">
      {view.title}: backend {trial.backend} observes {tables}.
    </Empty>
  );
}
