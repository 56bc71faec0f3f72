/**
 * Geometry for the map of a fabric: positions of nodes, lines of links, sectors of a host's circle; lists the jobs
 * and ranks on each host.
 */
import type { Topology, TopologyLink } from '../../../api/types';

/** Node with its position in the drawing. */
export interface Placed {
  name: string;
  tier: number;
  x: number;
  y: number;
}

export interface Line {
  key: string;
  from: Placed;
  to: Placed;
  count: number;
  rate_bps: number;
}

export interface TopologyPicture {
  nodes: Placed[];
  lines: Line[];
  width: number;
  height: number;
}

const WIDTH = 640;
const TIER_HEIGHT = 84;
const MARGIN = 26;

export function pictureOf(topology: Topology): TopologyPicture {
  const levels = Math.max(1, ...topology.nodes.map((node) => node.y));
  const height = levels * TIER_HEIGHT + 2 * MARGIN;
  const nodes = topology.nodes.map(({ name, tier, x, y }) => ({
    name,
    tier,
    x: WIDTH * x,
    y: height - MARGIN - TIER_HEIGHT * y,
  }));
  return { nodes, lines: linesOf(nodes, topology.links), width: WIDTH, height };
}

/** Lines of the drawing; parallel links are one line with their count. */
function linesOf(nodes: Placed[], links: TopologyLink[]): Line[] {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const lines = new Map<string, Line>();
  for (const link of links) {
    const from = byName.get(link.from);
    const to = byName.get(link.to);
    if (from === undefined || to === undefined) continue;
    const key = `${link.from} ${link.to}`;
    const line = lines.get(key);
    if (line) line.count += 1;
    else lines.set(key, { key, from, to, count: 1, rate_bps: link.rate_bps });
  }
  return [...lines.values()];
}

/** Indices of the jobs with a rank on each host, by number of the host. */
export function jobsOfHost(topology: Topology): Map<number, number[]> {
  const jobs = new Map<number, number[]>();
  topology.jobs.forEach((job, index) => {
    for (const host of new Set(job.hosts)) jobs.set(host, [...(jobs.get(host) ?? []), index]);
  });
  return jobs;
}

/** SVG paths of equal sectors of a circle, clockwise from the top. */
export function sectors(x: number, y: number, radius: number, count: number): string[] {
  const at = (part: number) => {
    const angle = (2 * Math.PI * part) / count - Math.PI / 2;
    return `${(x + radius * Math.cos(angle)).toFixed(2)} ${(y + radius * Math.sin(angle)).toFixed(2)}`;
  };
  return Array.from(
    { length: count },
    (_, part) => `M${x} ${y}L${at(part)}A${radius} ${radius} 0 0 1 ${at(part + 1)}Z`,
  );
}

/** Names of the ranks on each host, such as "ring rank 0", by number of the host. */
export function ranksOfHost(topology: Topology): Map<number, string[]> {
  const ranks = new Map<number, string[]>();
  for (const job of topology.jobs) {
    job.hosts.forEach((host, rank) => {
      ranks.set(host, [...(ranks.get(host) ?? []), `${job.name} rank ${rank}`]);
    });
  }
  return ranks;
}
