/** Requests to the server of this page. The token is in a cookie, which the browser sends by itself. */

/** What the server says about something wrong, in the words of the command line. */
export interface Problem {
  message: string;
  hint?: string | null;
  field?: string | null;
  line?: number | null;
  column?: number | null;
  found?: string | null;
  allowed?: string | null;
}

/** An answer other than 2xx, or none at all (`status` 0). */
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

type Values = Record<string, string | number | boolean | null | undefined | readonly string[]>;

/** Write a query, without empty values; a list is repeated. */
export function query(values: Values): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === undefined || value === '') continue;
    const all = typeof value === 'object' ? value : [String(value)];
    for (const one of all) search.append(name, one);
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

/** Path of an address of the interface; `parts` are escaped. */
export function path(...parts: readonly string[]): string {
  return `/api/v1/${parts.map(encodeURIComponent).join('/')}`;
}

export async function get<T>(url: string, signal?: AbortSignal): Promise<T> {
  return request<T>(url, signal ? { signal } : {});
}

export async function send<T>(
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  url: string,
  body?: unknown,
): Promise<T> {
  const init: RequestInit = { method };
  if (body !== undefined) {
    init.headers = { 'Content-Type': 'application/json' };
    init.body = JSON.stringify(body);
  }
  return request<T>(url, init);
}

/** Send bytes as they are. */
export async function upload<T>(url: string, content: ArrayBuffer): Promise<T> {
  return request<T>(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/octet-stream' },
    body: content,
  });
}

async function request<T>(url: string, init: RequestInit): Promise<T> {
  const answer = await reach(url, init);
  const text = await answer.text();
  const body = parsed(text);
  if (!answer.ok) throw new ApiError(answer.status, problemOf(body, answer), body);
  return body as T;
}

async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { credentials: 'same-origin', ...init });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError(0, {
      message: 'The server does not answer.',
      hint: 'Is `fabricbench serve` running?',
    });
  }
}

function parsed(text: string): unknown {
  if (text === '') return null;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** Take the problem from the body of an answer, or name the status. */
export function problemOf(body: unknown, answer: { status: number; statusText: string }): Problem {
  if (typeof body === 'object' && body !== null && 'error' in body) {
    const problem = body.error;
    if (typeof problem === 'object' && problem !== null && 'message' in problem) return problem as Problem;
  }
  return { message: `The server answered ${answer.status} ${answer.statusText}.`.trimEnd() };
}
