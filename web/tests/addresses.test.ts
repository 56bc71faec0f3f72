/** Tests of URLs, filters, pages and row conditions in queries, time ranges of figures, and errors of the API. */
import { describe, expect, it } from 'vitest';

import { path, problemOf, query } from '../src/api/client';
import { ranksOf } from '../src/components/chart/ChunkFilterBar';
import { changed } from '../src/components/useSearch';
import { pageNumbers } from '../src/components/table/usePages';
import { timeRangeOf, withTimeRange, zoomedTime } from '../src/components/chart/timeRange';
import { conditions, conditionText } from '../src/pages/trial/rowConditions';
import { filterOf, isFiltered, sortingOf } from '../src/pages/workspace/filters';

describe('addresses', () => {
  it('queries omit empty values and repeat the name of a list', () => {
    expect(query({ search: '', plan: null, limit: 0, trial: ['a', 'b'] })).toBe('?limit=0&trial=a&trial=b');
    expect(query({})).toBe('');
    expect(path('trials', 'a/b', 'tables')).toBe('/api/v1/trials/a%2Fb/tables');
  });

  it('filters of the workspace are read from the URL and written to it', () => {
    const search = new URLSearchParams('search=jct&tag=demo&sort=plan&order=asc&deleted=true');
    expect(filterOf(search)).toEqual({
      search: 'jct',
      tag: 'demo',
      sort: 'plan',
      order: 'asc',
      deleted: true,
    });
    expect(sortingOf(new URLSearchParams())).toEqual({ key: 'started_at', order: 'desc' });
    expect(isFiltered(new URLSearchParams('sort=plan'))).toBe(false);
    expect(changed(search, { tag: null, trial: ['x', 'y'] }).toString()).toBe(
      'search=jct&sort=plan&order=asc&deleted=true&trial=x&trial=y',
    );
  });

  it('pages are those that hold the rows in sight', () => {
    expect(pageNumbers(0, 30)).toEqual([0]);
    expect(pageNumbers(190, 410)).toEqual([0, 1, 2]);
    expect(pageNumbers(1_000, 1_020)).toEqual([0, 5]);
  });

  it('conditions on rows are written as people do and sent as the server takes them', () => {
    expect(conditions('src_rank = 3, status=failed, fct_ps>=1000, half=')).toEqual([
      'src_rank:eq:3',
      'status:eq:failed',
      'fct_ps:ge:1000',
    ]);
    expect(conditionText('fct_ps:ge:1000')).toBe('fct_ps>=1000');
    expect(conditions('node~leaf').map(conditionText)).toEqual(['node~leaf']);
  });
});

describe('zoom', () => {
  it('ranks may be ranges, and never too many', () => {
    expect(ranksOf('0, 4-6,x')).toEqual([0, 4, 5, 6]);
    expect(ranksOf('0-9999')).toHaveLength(256);
    expect(ranksOf('7-3')).toEqual([]);
  });

  const figure = { data: [], layout: { xaxis: { title: 'ms' } }, unit_ps: 1e9 };

  it('a stretch in the address becomes the range of the axis', () => {
    const stretch = timeRangeOf(new URLSearchParams('from=500000000&to=2000000000'));
    expect(withTimeRange(figure, stretch).layout.xaxis).toMatchObject({
      range: [0.5, 2],
      autorange: false,
      title: 'ms',
    });
    expect(withTimeRange(figure, null)).toEqual(figure);
    expect(timeRangeOf(new URLSearchParams('from=5&to=2'))).toBeNull();
  });

  it('a range of the axis becomes picoseconds, never before the start', () => {
    expect(zoomedTime([-0.1, 1.5], figure)).toEqual({ from_ps: 0, to_ps: 1_500_000_000 });
    expect(zoomedTime(null, figure)).toBeNull();
  });

  it('the range of the whole run is no stretch, and a stretch ends with the run', () => {
    const ended = { ...figure, end_ps: 2_000_000_000 };
    expect(zoomedTime([0, 2], ended)).toBeNull();
    expect(zoomedTime([1, 2.5], ended)).toEqual({ from_ps: 1_000_000_000, to_ps: 2_000_000_000 });
  });
});

describe('errors', () => {
  it('are those of the server, or else the status', () => {
    const answer = { status: 422, statusText: 'Unprocessable' };
    expect(problemOf({ error: { message: 'no', hint: 'try' } }, answer)).toEqual({
      message: 'no',
      hint: 'try',
    });
    expect(problemOf('<html>', answer).message).toBe('The server answered 422 Unprocessable.');
  });
});
