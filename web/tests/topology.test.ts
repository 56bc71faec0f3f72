/** Tests of the jobs and sectors of hosts in the map of a fabric. */
import { expect, test } from 'vitest';

import type { Topology } from '../src/api/types';
import { jobsOfHost, sectors } from '../src/pages/configuration/map/topology';

test('a host has the colours of every job with a rank on it', () => {
  const jobs = [
    { name: 'ring', hosts: [0, 1, 1] },
    { name: 'neighbour', hosts: [1, 2] },
  ];
  const found = jobsOfHost({
    hosts: 3,
    nodes: [],
    links: [],
    switches: [],
    jobs,
    reduced: false,
  } satisfies Topology);
  expect([...found]).toEqual([
    [0, [0]],
    [1, [0, 1]],
    [2, [1]],
  ]);
});

test('parts of a circle meet each other', () => {
  const [first = '', second = ''] = sectors(10, 10, 5, 2);
  expect(first).toBe('M10 10L10.00 5.00A5 5 0 0 1 10.00 15.00Z');
  expect(second.startsWith('M10 10L10.00 15.00')).toBe(true);
});
