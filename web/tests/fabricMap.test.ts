/** Tests of the map of a fabric: layout, search, jobs of hosts. */
import { expect, test } from 'vitest';

import type { FabricMap, MapBox } from '../src/api/types';
import { findOnMap } from '../src/pages/configuration/map/find';
import { hostsByJob, jobsOfHost, sectors } from '../src/pages/configuration/map/hosts';
import { GUTTER, layoutOf, rateText, ratioText } from '../src/pages/configuration/map/layout';

function box(values: Partial<MapBox>): MapBox {
  return {
    label: '',
    tier: 1,
    switches: [],
    hosts: [],
    pods: null,
    rail: null,
    plane: null,
    servers: 0,
    ...values,
  };
}

/** Two pods of two leaves with two hosts each, below two cores. */
const PODS: FabricMap = {
  shape: '2 pods x 2 leaves x 2 hosts',
  hosts: 8,
  switches: 6,
  adapters: 1,
  scale_up_bps: null,
  scheduled: false,
  tiers: [
    { tier: 1, name: 'leaves', switches: 4, down_bps: 800e9, up_bps: 400e9 },
    { tier: 2, name: 'cores', switches: 2, down_bps: 0, up_bps: 0 },
  ],
  boxes: [
    ...[0, 1, 2, 3].map((leaf) => {
      const pod = Math.floor(leaf / 2);
      return box({
        label: `hosts of leaf${leaf}`,
        tier: 0,
        hosts: [[2 * leaf, 2 * leaf + 1]],
        pods: [pod, pod],
      });
    }),
    ...[0, 1, 2, 3].map((leaf) => {
      const pod = Math.floor(leaf / 2);
      return box({
        label: `leaf${leaf}`,
        switches: [`leaf${leaf}`],
        hosts: [[2 * leaf, 2 * leaf + 1]],
        pods: [pod, pod],
      });
    }),
    box({ label: 'core0 to core1', tier: 2, switches: ['core0', 'core1'] }),
  ],
  bundles: [0, 1, 2, 3].flatMap((leaf) => [
    { lower: leaf, upper: 4 + leaf, links: 2, rates_bps: [400e9] },
    { lower: 4 + leaf, upper: 8, links: 2, rates_bps: [100e9] },
  ]),
  jobs: [],
};

test('pods are frames side by side, each with its own leaves and hosts', () => {
  const { frames, boxes, lines, tiers } = layoutOf(PODS, GUTTER);
  expect(frames.map(({ label }) => label)).toEqual(['pod 0', 'pod 1']);
  const [first, second] = frames;
  expect((first?.x ?? 0) + (first?.width ?? 0)).toBeLessThan(second?.x ?? 0);
  const inFirst = boxes.filter(({ x }) => first !== undefined && x > first.x && x < first.x + first.width);
  expect(inFirst.map(({ box }) => box.label)).toEqual(['hosts of leaf0', 'hosts of leaf1', 'leaf0', 'leaf1']);
  expect(lines).toHaveLength(8 + 4);
  expect(tiers.map(({ name }) => name)).toEqual(['8 hosts', '4 leaves', '2 cores']);
  expect(tiers[1]?.uplinks).toMatchObject({ ratio: '2:1', rate: '100 Gb/s', isOversubscribed: true });
});

test('a host is found by its number, a switch by its name', () => {
  expect(findOnMap(PODS, ' host5 ')).toEqual({ box: 2, host: 5, text: 'pod 1, leaf2' });
  expect(findOnMap(PODS, 'LEAF3')).toEqual({ box: 7, host: null, text: 'pod 1, leaf3' });
  expect(findOnMap(PODS, 'core1')?.text).toBe('core1, one of core0 to core1');
  expect(findOnMap(PODS, '8')).toBeNull();
});

test('rates and ratios are short', () => {
  expect(rateText([400e9])).toBe('400 Gb/s');
  expect(rateText([400e9, 100e9])).toBe('100 to 400 Gb/s');
  expect([0.25, 1, 4 / 3].map(ratioText)).toEqual(['1:4', '1:1', '1.33:1']);
});

test('a host has the colours of every job with a rank on it', () => {
  const jobs = jobsOfHost({
    jobs: [
      { name: 'ring', hosts: [[0], [1], [1]] },
      { name: 'neighbour', hosts: [[1, 2]] },
    ],
  });
  expect([...jobs]).toEqual([
    [0, [0]],
    [1, [0, 1]],
    [2, [1]],
  ]);
  expect(hostsByJob([1, 2, 3], jobs)).toEqual([
    { job: 0, hosts: 1 },
    { job: 1, hosts: 2 },
    { job: -1, hosts: 1 },
  ]);
});

test('parts of a circle meet each other', () => {
  const [first = '', second = ''] = sectors(10, 10, 5, 2);
  expect(first).toBe('M10 10L10.00 5.00A5 5 0 0 1 10.00 15.00Z');
  expect(second.startsWith('M10 10L10.00 15.00')).toBe(true);
});
