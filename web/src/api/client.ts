/**
 * HTTP client of the server's API: `api` sends typed requests, whose token is a cookie, and throws the server's error
 * with its message and hint; URLs and query strings of links.
 */
import createClient from 'openapi-fetch';

import type { components, paths } from './schema';

/** Error in the words of the command line; the client's own errors have a message, and a hint at most. */
export type Problem = Partial<components['schemas']['Fault']> & { message: string };

/** A response other than 2xx, or none (`status` 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
    readonly body: unknown = null,
  ) {
    super(problem.message);
    this.name = 'ApiError';
  }
}

type Values = Record<string, string | number | boolean | null | undefined | readonly (string | number)[]>;

/** Query string without empty values; the items of a list repeat its name. */
export function query(values: Values): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === undefined || value === '') continue;
    const all = typeof value === 'object' ? value : [value];
    for (const item of all) search.append(name, String(item));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

/** Path of a resource of the API; `parts` are escaped. */
export function path(...parts: readonly string[]): string {
  return `/api/v1/${parts.map(encodeURIComponent).join('/')}`;
}

/** Sends requests; a response other than 2xx is thrown as an `ApiError`. */
export const api = createClient<paths>({
  credentials: 'same-origin',
  querySerializer: (values) => query(values as Values),
});

api.use({
  async onResponse({ response }) {
    if (response.ok) return;
    const body = parsed(await response.text());
    throw new ApiError(response.status, problemOf(body, response), body);
  },
  onError({ error }) {
    if (error instanceof DOMException && error.name === 'AbortError') return;
    return new ApiError(0, {
      message: 'The server does not answer.',
      hint: 'Is `fabricbench serve` running?',
    });
  },
});

/** Content of a response of `api`, which has one unless it was thrown. */
export async function content<T>(response: Promise<{ data?: T }>): Promise<T> {
  return (await response).data as T;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** Error in the body of a response, or its status. */
export function problemOf(body: unknown, response: { status: number; statusText: string }): Problem {
  if (typeof body === 'object' && body !== null && 'error' in body) {
    const problem = body.error;
    if (typeof problem === 'object' && problem !== null && 'message' in problem) return problem as Problem;
  }
  return { message: `The server answered ${response.status} ${response.statusText}.`.trimEnd() };
}
