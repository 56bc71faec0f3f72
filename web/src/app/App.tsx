/**
 * Root component: provides theme, query client with retries and notifications; renders the router, or the login page
 * once the server has rejected a request without a token.
 */
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { useState, useSyncExternalStore } from 'react';
import { RouterProvider } from 'react-router';

import { ApiError } from '../api/client';
import { TokenPage } from './TokenPage';
import { router } from './router';
import { theme } from './theme';

/** Whether the server has rejected a request without a token since the page was loaded. */
const locked = { value: false, listeners: new Set<() => void>() };

function lock(error: unknown) {
  if (!(error instanceof ApiError) || error.status !== 401 || locked.value) return;
  locked.value = true;
  for (const listener of locked.listeners) listener();
}

function watchLock(listener: () => void) {
  locked.listeners.add(listener);
  return () => void locked.listeners.delete(listener);
}

function createClient() {
  return new QueryClient({
    queryCache: new QueryCache({ onError: lock }),
    defaultOptions: {
      // The server may be on this machine and work while the browser is offline.
      queries: { networkMode: 'always', retry: retryable, staleTime: 5_000, refetchOnWindowFocus: false },
      mutations: { networkMode: 'always' },
    },
  });
}

/** Repeats requests without a response, and none that the server refused. */
function retryable(count: number, error: Error) {
  return error instanceof ApiError && error.status === 0 && count < 2;
}

export function App() {
  const [client] = useState(createClient);
  const isLocked = useSyncExternalStore(watchLock, () => locked.value);
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto">
      <QueryClientProvider client={client}>
        <Notifications position="bottom-right" autoClose={6000} />
        {isLocked ? <TokenPage /> : <RouterProvider router={router} />}
      </QueryClientProvider>
    </MantineProvider>
  );
}
