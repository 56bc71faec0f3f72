import { Button, Code, Group, Paper, Text, Title } from '@mantine/core';
import { Link } from 'react-router';

import { useShippedPlans } from '../../api/queries';
import type { TrialDetail } from '../../api/types';
import { Empty } from '../../components/States';

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

/** What stands where a simulated trial has a view. */
export function NotMeasured({ title }: { title: string }) {
  return (
    <Empty title="Not measured">
      {title}: a benchmark prints times and rates of whole operations. It tells nothing of chunks, frames,
      queues or links.
    </Empty>
  );
}
