/** Tests of requests to the API: addresses, and errors of the server in its words. */
import { describe, expect, it } from 'vitest';

import { api, ApiError } from '../src/api/client';

const BASE = { baseUrl: 'http://127.0.0.1' };

/** Options of a request that is answered without a server; `requests` receives its address. */
function answeredBy(answer: () => Response, requests: string[] = []) {
  return {
    ...BASE,
    fetch: (request: Request) => {
      requests.push(request.url);
      return Promise.resolve(answer());
    },
  };
}

describe('requests', () => {
  it('have their parameters in the address, without empty ones', async () => {
    const requests: string[] = [];
    const answer = answeredBy(() => Response.json({ total: 0, trials: [] }), requests);
    const query = { where: ['busbw_gb_per_s>10', 'fct_ms_p99<1'], search: '', limit: 5 };
    const { data } = await api.GET('/api/v1/trials', { params: { query }, ...answer });
    expect(data?.total).toBe(0);
    const path = { trial_id: 'a/b' };
    await api.GET('/api/v1/trials/{trial_id}', { params: { path }, ...answer });
    expect(requests.map((url) => url.replace(BASE.baseUrl, ''))).toEqual([
      '/api/v1/trials?where=busbw_gb_per_s%3E10&where=fct_ms_p99%3C1&limit=5',
      '/api/v1/trials/a%2Fb',
    ]);
  });

  it('throw the error of the server with its hint', async () => {
    const problem = { message: 'no trial "x"', hint: 'GET /api/v1/trials lists them' };
    const answer = answeredBy(() => Response.json({ error: problem }, { status: 404 }));
    const asked = api.GET('/api/v1/about', answer);
    await expect(asked).rejects.toMatchObject({ status: 404, problem });
    const broken = answeredBy(() => new Response('<html>', { status: 502, statusText: 'Bad Gateway' }));
    await expect(api.GET('/api/v1/about', broken)).rejects.toThrow('The server answered 502 Bad Gateway.');
  });

  it('tell a server that does not answer from a request that was cancelled', async () => {
    const failing = (error: Error) =>
      api.GET('/api/v1/about', { ...BASE, fetch: () => Promise.reject(error) });
    await expect(failing(new TypeError('fetch failed'))).rejects.toEqual(
      new ApiError(0, { message: 'The server does not answer.', hint: 'Is `fabricbench serve` running?' }),
    );
    await expect(failing(new DOMException('', 'AbortError'))).rejects.toMatchObject({ name: 'AbortError' });
  });
});
