/** Cache of requests that all pages share, with retries; knows whether the server has rejected a request without a token. */
import { QueryCache, QueryClient } from '@tanstack/react-query';

import { ApiError } from '../api/client';

/** Whether the server has rejected a request without a token since the page was loaded. */
const locked = { value: false, listeners: new Set<() => void>() };

export const isLocked = () => locked.value;

function lock(error: unknown) {
  if (!(error instanceof ApiError) || error.status !== 401 || locked.value) return;
  locked.value = true;
  for (const listener of locked.listeners) listener();
}

export function watchLock(listener: () => void) {
  locked.listeners.add(listener);
  return () => void locked.listeners.delete(listener);
}

/** Repeats requests without a response, and none that the server refused. */
function retryable(count: number, error: Error) {
  return error instanceof ApiError && error.status === 0 && count < 2;
}

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: lock }),
  defaultOptions: {
    // The server may be on this machine and work while the browser is offline.
    queries: { networkMode: 'always', retry: retryable, staleTime: 5_000, refetchOnWindowFocus: false },
    mutations: { networkMode: 'always' },
  },
});
