/**
 * View "Plan and run" of a trial: the plan's YAML, its overrides, time and memory that the run took, and the machine.
 * OutputView, for an imported trial: output of the benchmark.
 */
import { Button, Code, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { Link } from 'react-router';

import { useShippedPlans } from '../../api/queries';
import type { TrialDetail } from '../../api/types';
import { FactList } from '../../components/FactList';
import { factName, factText, flatFacts } from '../../format/facts';

const TEXT_STYLE = { maxHeight: 'calc(100vh - 260px)', overflow: 'auto' };

export function PlanView({ trial }: { trial: TrialDetail }) {
  const facts = Object.entries({ ...flatFacts(trial.engine), ...trial.machine });
  return (
    <div style={{ display: 'grid', gridTemplateColumns: 'minmax(0, 3fr) minmax(260px, 1fr)', gap: 12 }}>
      <Paper withBorder p="sm">
        <Group justify="space-between" mb={6}>
          <Title order={2}>Plan</Title>
          <Button component={Link} to={`/configure?trial=${trial.id}`} variant="default">
            Change and run again
          </Button>
        </Group>
        {trial.overrides.length > 0 ? (
          <Text size="sm" mb={6}>
            Changed: {trial.overrides.join('; ')}
          </Text>
        ) : null}
        <Code block role="region" aria-label="The plan as written" tabIndex={0} style={TEXT_STYLE}>
          {trial.plan_source}
        </Code>
      </Paper>
      <Stack gap="sm">
        <Paper withBorder p="sm">
          <Title order={2} mb={6}>
            Run
          </Title>
          <FactList facts={facts.map(([name, value]) => [factName(name), factText(name, value)])} />
        </Paper>
      </Stack>
    </div>
  );
}

export function OutputView({ trial }: { trial: TrialDetail }) {
  const plans = useShippedPlans().data?.plans ?? [];
  const hasPlan = plans.some(({ name, error }) => name === trial.plan && error === '');
  return (
    <Paper withBorder p="sm">
      <Group justify="space-between" mb={6}>
        <Title order={2}>Output of the benchmark</Title>
        {hasPlan ? (
          <Button component={Link} to={`/configure?plan=${trial.plan}`} variant="default">
            Simulate with {trial.plan}
          </Button>
        ) : null}
      </Group>
      <Text size="sm" className="muted" mb={6}>
        Read by {trial.engine_version}.
      </Text>
      <Code block style={TEXT_STYLE}>
        {trial.plan_source}
      </Code>
    </Paper>
  );
}
