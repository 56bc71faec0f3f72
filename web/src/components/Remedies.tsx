/**
 * Remedies of a cause: a button for each that opens the plan of the trial with the remedy's settings, ready to run;
 * plain text for remedies without settings.
 */
import { Button, Group, Text } from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { Link } from 'react-router';

import { query } from '../api/client';
import type { Remedy } from '../api/types';
import { sentence } from '../format/jobs';
import { CodeText } from './CodeText';

interface Props {
  trial: string;
  remedies: readonly Remedy[];
}

export function Remedies({ trial, remedies }: Props) {
  if (remedies.length === 0) return null;
  const settings = remedies.filter(({ set }) => set.length > 0);
  const others = remedies.filter(({ set }) => set.length === 0);
  return (
    <Group gap="xs" mt={6} align="center">
      {settings.map(({ what: action, set, options }) => (
        <Button
          key={action}
          component={Link}
          to={`/configure${query({ trial, set })}`}
          variant="default"
          className="wrapping"
          leftSection={<IconPlayerPlay size={13} aria-hidden />}
          title={`Opens the plan of this trial with ${options}`}
        >
          Try: {action}
        </Button>
      ))}
      {others.map(({ what: action }) => (
        <Text key={action} size="sm">
          <CodeText text={sentence(action)} />
        </Text>
      ))}
    </Group>
  );
}
