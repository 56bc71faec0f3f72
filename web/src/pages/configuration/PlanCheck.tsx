/** What the server says about the plan: errors, or what a run would cost, and the button that starts one. */
import { Anchor, Button, Group, List, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';

import { path, send } from '../../api/client';
import type { Checked, Fault, Run } from '../../api/types';
import { NoteList } from '../../components/NoteList';
import { problemText } from '../../components/QueryStates';
import { duration, fileSize } from '../../format/numbers';
import { errorText, isNeeded } from './planErrors';
import { requestOf, type Where } from './runTarget';

interface Props {
  text: string;
  where: Where;
  checked: Checked | undefined;
  isCurrent: boolean;
  onField: (field: string) => void;
}

export function Verdict({ text, where, checked, isCurrent, onField }: Props) {
  const run = useRunning(text, where);
  const errors = checked?.errors ?? [];
  const beyond = checked?.beyond_machine ?? false;
  const ready = checked !== undefined && isCurrent && (errors.length === 0 || beyond);
  return (
    <section className="panel" style={{ padding: '8px 12px' }} aria-label="Check of the plan">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <div role="status" aria-live="polite">
          <Summary checked={checked} isCurrent={isCurrent} where={where} />
        </div>
        <Button
          leftSection={<IconPlayerPlay size={14} />}
          disabled={!ready}
          loading={run.isPending}
          color={beyond ? 'orange' : 'fabric'}
          onClick={() => run.mutate(beyond)}
        >
          {beyond ? 'Run all the same' : 'Run'}
        </Button>
      </Group>
      <Faults faults={errors} kind="worse" onField={onField} />
      <Faults faults={checked?.warnings ?? []} kind="muted" onField={onField} />
      <NoteList label="Before it runs" notes={checked?.notes ?? []} />
    </section>
  );
}

interface SummaryProps {
  checked: Checked | undefined;
  isCurrent: boolean;
  where: Where;
}

function Summary({ checked, isCurrent, where }: SummaryProps) {
  if (checked === undefined) return <Text size="sm">Checking …</Text>;
  const wrong = checked.errors.filter((error) => !isNeeded(error)).length;
  const needed = checked.errors.length - wrong;
  if (wrong > 0) {
    return (
      <Text size="sm" fw={600} className="worse">
        {wrong === 1 ? 'One thing is wrong' : `${wrong} things are wrong`}
      </Text>
    );
  }
  if (needed > 0) {
    return (
      <Text size="sm" fw={600}>
        {needed === 1 ? 'One more thing is needed' : `${needed} more things are needed`}
      </Text>
    );
  }
  const { cost } = checked;
  return (
    <>
      <Text size="sm" fw={600}>
        {checked.extent ?? `${checked.trials_total} trials`}
        {isCurrent ? '' : ' …'}
      </Text>
      {cost === null ? null : (
        <Text size="xs" className="muted" title={cost.text}>
          {where.twin ? 'prediction: ' : ''}about {duration(cost.seconds)} of one core,{' '}
          {fileSize(cost.memory_bytes)} of memory
        </Text>
      )}
    </>
  );
}

function Faults({
  faults,
  kind,
  onField,
}: {
  faults: Fault[];
  kind: string;
  onField: (field: string) => void;
}) {
  if (faults.length === 0) return null;
  return (
    <List
      size="xs"
      mt={6}
      spacing={2}
      style={{ maxHeight: 150, overflow: 'auto' }}
      aria-label="What is wrong"
    >
      {faults.map((fault, index) => (
        <List.Item key={index}>
          {fault.field ? (
            <Anchor
              component="button"
              type="button"
              size="xs"
              className="mono"
              onClick={() => onField(fault.field)}
            >
              {fault.field}
            </Anchor>
          ) : null}{' '}
          <Text span size="xs" className={isNeeded(fault) ? 'muted' : kind}>
            {errorText(fault)}
          </Text>
        </List.Item>
      ))}
    </List>
  );
}

/** Starts a run of the plan and goes to its page. */
function useRunning(yaml: string, where: Where) {
  const navigate = useNavigate();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (force: boolean) => send<Run>('POST', path('runs'), { yaml, force, ...requestOf(where) }),
    onSuccess: (run) => {
      void client.invalidateQueries({ queryKey: ['runs'] });
      void navigate(`/runs/${run.id}`);
    },
    onError: (error) =>
      notifications.show({ color: 'red', title: 'The run was refused', message: problemText(error).message }),
  });
}
