/** Hosts on the map of a fabric: their numbers, jobs, ranks, and the sectors of their marks. */
import type { FabricMap, MapBox } from '../../../api/types';

/** Numbers of the hosts of a box. */
export function hostNumbers({ hosts }: MapBox): number[] {
  return hosts.flatMap(([first = 0, last = first]) =>
    Array.from({ length: last - first + 1 }, (_, index) => first + index),
  );
}

/** Indices of the jobs with a rank on each host, by number of the host. */
export function jobsOfHost({ jobs }: Pick<FabricMap, 'jobs'>): Map<number, number[]> {
  const found = new Map<number, number[]>();
  jobs.forEach((job, index) => {
    for (const host of new Set(job.hosts.flat())) found.set(host, [...(found.get(host) ?? []), index]);
  });
  return found;
}

/** Names of the ranks on each host, such as "ring rank 0", by number of the host. */
export function ranksOfHost({ jobs }: Pick<FabricMap, 'jobs'>): Map<number, string[]> {
  const ranks = new Map<number, string[]>();
  for (const job of jobs) {
    job.hosts.forEach((hosts, rank) => {
      for (const host of hosts) ranks.set(host, [...(ranks.get(host) ?? []), `${job.name} rank ${rank}`]);
    });
  }
  return ranks;
}

/** Hosts of each job among some hosts, and those without a job (index -1); a host counts for each of its jobs. */
export function hostsByJob(
  numbers: readonly number[],
  jobs: Map<number, number[]>,
): { job: number; hosts: number }[] {
  const counts = new Map<number, number>();
  for (const number of numbers) {
    for (const job of jobs.get(number) ?? [-1]) counts.set(job, (counts.get(job) ?? 0) + 1);
  }
  return [...counts].map(([job, hosts]) => ({ job, hosts })).sort((a, b) => order(a.job) - order(b.job));
}

/** Position of a job in a bar; hosts without one are last. */
function order(job: number): number {
  return job < 0 ? Infinity : job;
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
