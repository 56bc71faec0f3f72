/**
 * Panel with the server's check of a plan: errors, warnings and notes, or the number of trials with estimated time
 * and memory; button that starts the run.
 */
import { Anchor, Button, Group, List, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from 'react-router';

import { api, content } from '../../api/client';
import { useRefreshing } from '../../api/queries';
import type { Checked, Fault } from '../../api/types';
import { NoteList } from '../../components/NoteList';
import { problemText } from '../../components/QueryStates';
import { duration, fileSize } from '../../format/numbers';
import { errorText, isMissing } from './planErrors';
import { requestOf, type RunTarget } from './runTarget';

interface Props {
  text: string;
  target: RunTarget;
  check: Checked | undefined;
  isCurrent: boolean;
  onField: (field: string) => void;
}

export function PlanCheck({ text, target, check, isCurrent, onField }: Props) {
  const run = useRunStart(text, target);
  const errors = check?.errors ?? [];
  const beyond = check?.beyond_machine ?? false;
  const ready = check !== undefined && isCurrent && (errors.length === 0 || beyond);
  return (
    <section className="panel" style={{ padding: '8px 12px' }} aria-label="Check of the plan">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <div role="status" aria-live="polite">
          <Summary check={check} isCurrent={isCurrent} target={target} />
        </div>
        <Button
          leftSection={<IconPlayerPlay size={14} />}
          disabled={!ready}
          loading={run.isPending}
          color={beyond ? 'orange' : 'fabric'}
          onClick={() => run.mutate(beyond)}
        >
          {beyond ? 'Run anyway' : 'Run'}
        </Button>
      </Group>
      <ErrorList errors={errors} className="worse" onField={onField} />
      <ErrorList errors={check?.warnings ?? []} className="muted" onField={onField} />
      <NoteList label="Before it runs" notes={check?.notes ?? []} />
    </section>
  );
}

interface SummaryProps {
  check: Checked | undefined;
  isCurrent: boolean;
  target: RunTarget;
}

function Summary({ check, isCurrent, target }: SummaryProps) {
  if (check === undefined) return <Text size="sm">Checking …</Text>;
  const wrong = check.errors.filter((error) => !isMissing(error)).length;
  const missing = check.errors.length - wrong;
  if (wrong > 0) {
    return (
      <Text size="sm" fw={600} className="worse">
        {wrong === 1 ? 'One error' : `${wrong} errors`}
      </Text>
    );
  }
  if (missing > 0) {
    return (
      <Text size="sm" fw={600}>
        {missing === 1 ? 'One required field is empty' : `${missing} required fields are empty`}
      </Text>
    );
  }
  const { cost } = check;
  return (
    <>
      <Text size="sm" fw={600}>
        {check.extent ?? `${check.trials_total} trials`}
        {isCurrent ? '' : ' …'}
      </Text>
      {cost === null ? null : (
        <Text size="xs" className="muted" title={cost.text}>
          {target.twin ? 'prediction: ' : ''}about {duration(cost.seconds)} of one core,{' '}
          {fileSize(cost.memory_bytes)} of memory
        </Text>
      )}
    </>
  );
}

interface ErrorListProps {
  errors: Fault[];
  className: string;
  onField: (field: string) => void;
}

function ErrorList({ errors, className, onField }: ErrorListProps) {
  if (errors.length === 0) return null;
  return (
    <List
      size="xs"
      mt={6}
      spacing={2}
      style={{ maxHeight: 150, overflow: 'auto' }}
      aria-label="Errors and warnings"
    >
      {errors.map((error, index) => (
        <List.Item key={index}>
          {error.field ? (
            <Anchor
              component="button"
              type="button"
              size="xs"
              className="mono"
              onClick={() => onField(error.field)}
            >
              {error.field}
            </Anchor>
          ) : null}{' '}
          <Text span size="xs" className={isMissing(error) ? 'muted' : className}>
            {errorText(error)}
          </Text>
        </List.Item>
      ))}
    </List>
  );
}

/** Starts a run of the plan and opens its page. */
function useRunStart(yaml: string, target: RunTarget) {
  const navigate = useNavigate();
  const refreshing = useRefreshing();
  return useMutation({
    mutationFn: (force: boolean) =>
      content(api.POST('/api/v1/runs', { body: { yaml, force, ...requestOf(target) } })),
    onSuccess: (run) => {
      refreshing.runs();
      void navigate(`/runs/${run.id}`);
    },
    onError: (error) =>
      notifications.show({ color: 'red', title: 'The run was refused', message: problemText(error).message }),
  });
}
