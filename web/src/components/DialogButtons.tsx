/** Bottom row of a dialog: error of the dialog's request, Cancel button, and the button that sends the request. */
import { Button, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';

import { problemText } from './QueryStates';

interface Props {
  /** Error of the dialog's request; null without one. */
  error: Error | null;
  onClose: () => void;
  /** Button that sends the request. */
  children: ReactNode;
}

export function DialogButtons({ error, onClose, children }: Props) {
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
