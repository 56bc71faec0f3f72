import { Button, Code, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { Link } from 'react-router';

import type { Facts, TrialDetail } from '../../api/types';
import { factName, factText, flatFacts } from '../../format/facts';

/** What was run: the plan as written, what was changed, and what the run cost. */
export function PlanView({ trial }: { trial: TrialDetail }) {
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
        <Code
          block
          role="region"
          aria-label="The plan as written"
          tabIndex={0}
          style={{ maxHeight: 'calc(100vh - 260px)', overflow: 'auto' }}
        >
          {trial.plan_source ?? 'The plan is not in the record.'}
        </Code>
      </Paper>
      <Stack gap="sm">
        <Paper withBorder p="sm">
          <Title order={2} mb={6}>
            Run
          </Title>
          <dl className="facts">
            {Object.entries(runFacts(trial)).map(([name, value]) => (
              <EngineFact key={name} name={name} value={value} />
            ))}
          </dl>
        </Paper>
      </Stack>
    </div>
  );
}

/** What the run cost and where; its hosts have a view of their own. */
function runFacts({ engine, machine }: TrialDetail): Facts {
  return { ...flatFacts(engine ?? {}), ...machine };
}

function EngineFact({ name, value }: { name: string; value: Facts[string] }) {
  return (
    <>
      <dt>{factName(name)}</dt>
      <dd className="num">{factText(name, value)}</dd>
    </>
  );
}
