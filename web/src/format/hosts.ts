/**
 * Texts, colours and table columns for the hosts that measure: failed checks, counts of states, ranges of ranks,
 * facts, clock offsets and errors, names of endpoint counters.
 */
import type { EngineHost, HostCheck, HostsFile, HostState } from '../api/types';

/** Colour of the badge of each state. */
export const COLOURS: Record<HostState['state'], string> = {
  asking: 'gray',
  ready: 'teal',
  busy: 'blue',
  warning: 'yellow',
  problem: 'red',
};

/** Problems, then warnings. */
export function failedChecks(host: HostState): HostCheck[] {
  const of = (state: HostCheck['state']) => host.checks.filter((each) => each.state === state);
  return [...of('problem'), ...of('warning')];
}

/** Numbers of ranks in the short form of plans: 0-3, 8. */
export function ranksText(ranks: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const number of ranks.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(', ');
}

/** Number of hosts, and of hosts in states other than ready. */
export function countText(hosts: readonly HostState[]): string {
  const others = (['busy', 'warning', 'problem', 'asking'] as const).map((state) => {
    const count = hosts.filter((host) => host.state === state).length;
    return count === 0 ? '' : `${count} ${STATE_TEXTS[state]}`;
  });
  const all = hosts.length === 1 ? '1 host' : `${hosts.length} hosts`;
  return [all, ...others.filter((text) => text !== '')].join(', ');
}

const STATE_TEXTS = {
  busy: 'busy with a run',
  warning: 'with a warning',
  problem: 'that cannot run a trial',
  asking: 'without an answer yet',
};

/** States of the hosts of a file, for menus. */
export function hostsFileText(file: HostsFile): string {
  return file.error === '' ? countText(file.hosts) : 'cannot be read';
}

/** Facts of a host that `fabricbench show` prints. */
export const SHOWN_FACTS = [
  { name: 'kernel', title: 'Kernel' },
  { name: 'interface', title: 'Interface' },
  { name: 'driver', title: 'Adapter' },
  { name: 'firmware', title: 'Firmware' },
  { name: 'mtu_bytes', title: 'MTU' },
] as const;

/** Times of a host, which the record has in nanoseconds; null where they were not measured. */
export const TIMES = [
  { title: 'Clock offset', microseconds: (host: EngineHost) => toMicroseconds(host.clock_offset_ns) },
  { title: 'Clock drift', microseconds: (host: EngineHost) => toMicroseconds(host.clock_drift_ns) },
  { title: 'Clock error', microseconds: (host: EngineHost) => toMicroseconds(host.clock_error_ns) },
  { title: 'Start delay', microseconds: (host: EngineHost) => toMicroseconds(host.endpoint.start_skew_ns) },
] as const;

function toMicroseconds(ns: number | undefined): number | null {
  return ns === undefined ? null : ns / 1e3;
}

/** Names of the counters of the hosts' endpoints, in alphabetical order. */
export function endpointNames(hosts: readonly EngineHost[]): string[] {
  return [...new Set(hosts.flatMap((host) => Object.keys(host.endpoint)))].toSorted();
}
