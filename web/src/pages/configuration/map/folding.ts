/**
 * Builds the tree of boxes for the map of a large fabric (pods, blocks of consecutive switches, tiers, hosts below
 * each), and finds a host or switch in it.
 */
import type { Topology, TopologySwitch } from '../../../api/types';

/** Box of the map: number of switches, hosts and inner boxes. */
export interface Box {
  name: string;
  switches: number;
  /** First and last number of each range of hosts below it. */
  hosts: [number, number][];
  children: Box[];
}

const BOXES_MAX = 64;

/** Boxes of the highest level, at most BOXES_MAX. */
export function boxesOf(topology: Topology): Box[] {
  const inPods = topology.switches.filter(({ pod }) => pod !== null);
  const outside = topology.switches.filter(({ pod }) => pod === null);
  const pods = groupedBy(inPods, ({ pod }) => pod ?? 0);
  const boxes = [...pods].map(([pod, members]) => boxOf(`pod ${pod}`, blocksOf(members.map(leafBox))));
  return [...blocksOf(outside.filter(hasHosts).map(leafBox)), ...blocksOf(boxes), ...tiersOf(outside)];
}

/** Boxes of switches without hosts and outside of pods, one per tier. */
function tiersOf(switches: TopologySwitch[]): Box[] {
  const tiers = groupedBy(
    switches.filter((each) => !hasHosts(each)),
    ({ tier }) => tier,
  );
  return [...tiers.values()].map((members) => boxOf(rangeOf(members), blocksOf(members.map(leafBox))));
}

function groupedBy<Key>(switches: TopologySwitch[], keyOf: (each: TopologySwitch) => Key) {
  const groups = new Map<Key, TopologySwitch[]>();
  for (const each of switches) {
    const members = groups.get(keyOf(each));
    if (members) members.push(each);
    else groups.set(keyOf(each), [each]);
  }
  return groups;
}

function hasHosts({ hosts }: TopologySwitch): boolean {
  return hosts.length > 0;
}

function leafBox({ name, hosts }: TopologySwitch): Box {
  return { name, switches: 1, hosts: hosts as Box['hosts'], children: [] };
}

function boxOf(name: string, children: Box[]): Box {
  const switches = children.reduce((sum, child) => sum + child.switches, 0);
  return { name, switches, hosts: children.flatMap(({ hosts }) => hosts), children };
}

/** Groups more than BOXES_MAX boxes into blocks of consecutive ones. */
function blocksOf(boxes: Box[]): Box[] {
  if (boxes.length <= BOXES_MAX) return boxes;
  const size = Math.ceil(Math.sqrt(boxes.length));
  const starts = Array.from({ length: Math.ceil(boxes.length / size) }, (_, index) => index * size);
  return starts.map((start) => {
    const members = boxes.slice(start, start + size);
    return boxOf(rangeOf(members), members);
  });
}

function rangeOf(members: { name: string }[]): string {
  const first = members[0]?.name ?? '';
  const last = members.at(-1)?.name ?? '';
  return first === last ? first : `${first} to ${last}`;
}

export function hostCount({ hosts }: Box): number {
  return hosts.reduce((sum, [first, last]) => sum + last - first + 1, 0);
}

export function hostNumbers({ hosts }: Box): number[] {
  return hosts.flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, index) => first + index),
  );
}

/** Result of a search: names of the boxes around the match, and its number if it is a host. */
interface Match {
  path: string[];
  host: number | null;
}

/** Finds a host by its number or name (`17`, `host17`), or a switch by its name. */
export function findInBoxes(boxes: Box[], text: string): Match | null {
  const name = text.trim().toLowerCase();
  const number = /^(?:host\s*)?(\d+)$/.exec(name)?.[1];
  const host = number === undefined ? null : Number(number);
  const matches = (box: Box) =>
    box.children.length === 0 && (host === null ? box.name.toLowerCase() === name : hasHost(box, host));
  const path = pathTo(boxes, matches);
  return path && { path, host };
}

function hasHost({ hosts }: Box, host: number): boolean {
  return hosts.some(([first, last]) => first <= host && host <= last);
}

function pathTo(boxes: Box[], matches: (box: Box) => boolean): string[] | null {
  for (const box of boxes) {
    if (matches(box)) return [box.name];
    const below = pathTo(box.children, matches);
    if (below) return [box.name, ...below];
  }
  return null;
}
