/** Tests of the boxes in a large fabric's map and of the search in them. */
import { expect, test } from 'vitest';

import type { Topology, TopologySwitch } from '../src/api/types';
import {
  type Box,
  boxesOf,
  findInBoxes,
  hostCount,
  hostNumbers,
} from '../src/pages/configuration/map/folding';

function fabric(hosts: number, switches: TopologySwitch[]): Topology {
  return { hosts, switches, nodes: [], links: [], jobs: [], reduced: false };
}

/** A fabric of leaves in pods, or in none, below spines. */
function leaves(count: number, hosts: number, perPod: number | null): Topology {
  const below = Array.from({ length: count }, (_, leaf): TopologySwitch => {
    const pod = perPod === null ? null : Math.floor(leaf / perPod);
    return { name: `leaf${leaf}`, tier: 1, pod, hosts: [[leaf * hosts, leaf * hosts + hosts - 1]] };
  });
  const spines = [0, 1].map((spine) => ({ name: `spine${spine}`, tier: 3, pod: null, hosts: [] }));
  return fabric(count * hosts, [...below, ...spines]);
}

function widest(boxes: Box[]): number {
  return Math.max(boxes.length, ...boxes.map(({ children }) => widest(children)));
}

test.each([
  [16, 32, null],
  [32, 32, 8],
  [256, 32, 16],
  [1024, 32, 32],
  [1024, 32, null],
  [4096, 8, 32],
])('%i leaves of %i hosts lose none and are never too many boxes at once', (count, hosts, perPod) => {
  const boxes = boxesOf(leaves(count, hosts, perPod));
  expect(widest(boxes)).toBeLessThanOrEqual(66);
  const numbers = boxes.flatMap(hostNumbers);
  expect(new Set(numbers).size).toBe(count * hosts);
  expect(boxes.reduce((sum, box) => sum + hostCount(box), 0)).toBe(count * hosts);
  expect(boxes.reduce((sum, box) => sum + box.switches, 0)).toBe(count + 2);
});

test('the search matches hosts by number and name and switches by name, with the boxes around them', () => {
  const boxes = boxesOf(leaves(32, 32, 8));
  expect(findInBoxes(boxes, '300')).toEqual({ path: ['pod 1', 'leaf9'], host: 300 });
  expect(findInBoxes(boxes, ' Host300 ')).toEqual({ path: ['pod 1', 'leaf9'], host: 300 });
  expect(findInBoxes(boxes, 'leaf31')).toEqual({ path: ['pod 3', 'leaf31'], host: null });
  expect(findInBoxes(boxes, 'spine1')).toEqual({ path: ['spine0 to spine1', 'spine1'], host: null });
  expect(findInBoxes(boxes, '1024')).toBeNull();
  expect(findInBoxes(boxes, 'leaf')).toBeNull();
});
