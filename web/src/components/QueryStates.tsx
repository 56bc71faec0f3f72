/**
 * Components for the states of a request: Loaded renders the data or one of the placeholders Loading and Failure
 * (with a retry button); Empty is for lists without items; problemText is an error's message and hint.
 */
import { Alert, Anchor, Button, Center, Group, Loader, Stack, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { ApiError } from '../api/client';

interface LoadedProps<T> {
  query: UseQueryResult<T, unknown>;
  /** Name of the data in the texts of the other states, such as "The run". */
  name: string;
  children: (data: T) => ReactNode;
}

export function Loaded<T>({ query, name, children }: LoadedProps<T>) {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.isError) return <Failure error={query.error} name={name} retry={() => void query.refetch()} />;
  return <Loading name={name.toLowerCase()} />;
}

export function Loading({ name }: { name: string }) {
  return (
    <Center py="xl" role="status" aria-live="polite">
      <Group gap="xs">
        <Loader size="xs" />
        <Text size="sm" className="muted">
          Loading {name} …
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

/** Message and hint of an error, with a button that repeats the request or loads the page again. */
export function Failure({ error, retry, name }: { error: unknown; retry?: () => void; name?: string }) {
  const problem = problemText(error);
  return (
    <Alert
      color="red"
      variant="light"
      icon={<IconAlertTriangle size={18} />}
      title={name ? `${name} cannot be shown` : 'Something went wrong'}
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
