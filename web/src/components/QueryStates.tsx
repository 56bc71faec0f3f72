/** What stands where there is nothing yet, nothing at all, or an error. */
import { Alert, Anchor, Button, Center, Group, Loader, Stack, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { ReactNode } from 'react';

import { ApiError } from '../api/client';

export function Loading({ what = 'Loading' }: { what?: string }) {
  return (
    <Center py="xl" role="status" aria-live="polite">
      <Group gap="xs">
        <Loader size="xs" />
        <Text size="sm" className="muted">
          {what} …
        </Text>
      </Group>
    </Center>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <Center py="xl">
      <Stack gap={6} align="center" maw={520} ta="center">
        <Text fw={600} component="h2" fz="sm">
          {title}
        </Text>
        <Text size="sm" component="div" className="muted">
          {children}
        </Text>
      </Stack>
    </Center>
  );
}

/** An error in the words of the server, with a way to try again. */
export function Failure({ error, retry, what }: { error: unknown; retry?: () => void; what?: string }) {
  const problem = problemText(error);
  return (
    <Alert
      color="red"
      variant="light"
      icon={<IconAlertTriangle size={18} />}
      title={what ? `${what} cannot be shown` : 'Something went wrong'}
      m="md"
    >
      <Stack gap={4}>
        <Text size="sm">{problem.message}</Text>
        {problem.hint ? (
          <Text size="sm" className="muted">
            hint: {problem.hint}
          </Text>
        ) : null}
        {retry ? (
          <div>
            <Button variant="default" mt={4} onClick={retry}>
              Try again
            </Button>
          </div>
        ) : (
          <Anchor size="sm" onClick={() => window.location.reload()} component="button">
            Load the page again
          </Anchor>
        )}
      </Stack>
    </Alert>
  );
}

export function problemText(error: unknown): { message: string; hint?: string | null } {
  if (error instanceof ApiError) return { message: error.problem.message, hint: error.problem.hint ?? null };
  return { message: error instanceof Error ? error.message : String(error) };
}
