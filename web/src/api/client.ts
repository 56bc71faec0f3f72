/**
 * HTTP client of the server's API: functions for GET, JSON and byte requests, URLs and query strings; errors with the
 * server's message and hint. Requests send the login token as a cookie.
 */
/** Error of the server, in the words of the command line. */
export interface Problem {
  message: string;
  hint?: string | null;
  field?: string | null;
  /** Name of the file of the request. */
  file?: string | null;
  line?: number | null;
  column?: number | null;
  found?: string | null;
  allowed?: string | null;
}

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

type Values = Record<string, string | number | boolean | null | undefined | readonly string[]>;

/** Query string without empty values; the items of a list repeat its name. */
export function query(values: Values): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === undefined || value === '') continue;
    const all = typeof value === 'object' ? value : [String(value)];
    for (const item of all) search.append(name, item);
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

/** Path of a resource of the API; `parts` are escaped. */
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

/** POST of bytes. */
export async function upload<T>(url: string, content: ArrayBuffer): Promise<T> {
  return request<T>(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/octet-stream' },
    body: content,
  });
}

async function request<T>(url: string, init: RequestInit): Promise<T> {
  const response = await fetched(url, init);
  const text = await response.text();
  const body = parsed(text);
  if (!response.ok) throw new ApiError(response.status, problemOf(body, response), body);
  return body as T;
}

async function fetched(url: string, init: RequestInit): Promise<Response> {
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

/** Error in the body of a response, or its status. */
export function problemOf(body: unknown, response: { status: number; statusText: string }): Problem {
  if (typeof body === 'object' && body !== null && 'error' in body) {
    const problem = body.error;
    if (typeof problem === 'object' && problem !== null && 'message' in problem) return problem as Problem;
  }
  return { message: `The server answered ${response.status} ${response.statusText}.`.trimEnd() };
}
