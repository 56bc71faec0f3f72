import { Button, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';

import { problemText } from './QueryStates';

interface Props {
  /** Why what the dialog asks for could not be done; null if nothing went wrong. */
  error: Error | null;
  onClose: () => void;
  /** The button that does it. */
  children: ReactNode;
}

/** The end of a dialog: what went wrong, and its buttons. */
export function DialogFoot({ error, onClose, children }: Props) {
  return (
    <>
      {error !== null ? (
        <Text size="sm" c="red" role="alert">
          {problemText(error).message}
        </Text>
      ) : null}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        {children}
      </Group>
    </>
  );
}
