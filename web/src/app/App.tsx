/**
 * Root component: provides theme, cache of requests and notifications; renders the router, or the login page once the
 * server has rejected a request without a token.
 */
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { RouterProvider } from 'react-router';

import { isLocked, queryClient, watchLock } from './queryClient';
import { TokenPage } from './TokenPage';
import { router } from './router';
import { theme } from './theme';

export function App() {
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto">
      <QueryClientProvider client={queryClient}>
        <Notifications position="bottom-right" autoClose={6000} />
        {useSyncExternalStore(watchLock, isLocked) ? <TokenPage /> : <RouterProvider router={router} />}
      </QueryClientProvider>
    </MantineProvider>
  );
}
