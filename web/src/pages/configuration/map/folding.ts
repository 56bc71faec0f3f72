/** The tree of a large fabric: pods or blocks of switches, below them switches, below these their hosts. */
import type { Topology, TopologySwitch } from '../../../api/types';

/** A box of the map: what it is called, what it holds, and what it opens to. */
export interface Box {
  name: string;
  switches: number;
  /** First and last number of each run of hosts below it. */
  hosts: [number, number][];
  children: Box[];
}

const BOXES_MAX = 64;

/** The boxes of the highest level; few enough to be drawn at once. */
export function boxesOf(topology: Topology): Box[] {
  const inPods = topology.switches.filter(({ pod }) => pod !== null);
  const apart = topology.switches.filter(({ pod }) => pod === null);
  const pods = groupedBy(inPods, ({ pod }) => pod ?? 0);
  const boxes = [...pods].map(([pod, members]) => boxOf(`pod ${pod}`, blocksOf(members.map(leafBox))));
  return [...blocksOf(apart.filter(hasHosts).map(leafBox)), ...blocksOf(boxes), ...tiersOf(apart)];
}

/** Switches without hosts and in no pod, a box for each tier. */
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
  return { name, switches: 1, hosts, children: [] };
}

function boxOf(name: string, children: Box[]): Box {
  const switches = children.reduce((sum, child) => sum + child.switches, 0);
  return { name, switches, hosts: children.flatMap(({ hosts }) => hosts), children };
}

/** Boxes that are too many to be drawn side by side, in blocks of those that follow each other. */
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

/** Where something is: the names of the boxes that open to it, and the host if it is one. */
export interface Found {
  path: string[];
  host: number | null;
}

/** Finds a host by its number or name (`17`, `host17`), or a switch by its name. */
export function find(boxes: Box[], text: string): Found | null {
  const sought = text.trim().toLowerCase();
  const number = /^(?:host\s*)?(\d+)$/.exec(sought)?.[1];
  const host = number === undefined ? null : Number(number);
  const isIt = (box: Box) =>
    box.children.length === 0 && (host === null ? box.name.toLowerCase() === sought : holds(box, host));
  const path = pathTo(boxes, isIt);
  return path && { path, host };
}

function holds({ hosts }: Box, host: number): boolean {
  return hosts.some(([first, last]) => first <= host && host <= last);
}

function pathTo(boxes: Box[], isIt: (box: Box) => boolean): string[] | null {
  for (const box of boxes) {
    if (isIt(box)) return [box.name];
    const below = pathTo(box.children, isIt);
    if (below) return [box.name, ...below];
  }
  return null;
}
