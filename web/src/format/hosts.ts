/** What is said of hosts, in words. */
import type { EngineHost, HostCheck, HostsFile, HostState } from '../api/types';

export const COLOURS: Record<HostState['state'], string> = {
  asking: 'gray',
  ready: 'teal',
  busy: 'blue',
  warning: 'yellow',
  problem: 'red',
};

/** The checks that a user should look at: problems first, then warnings. */
export function concerns(host: HostState): HostCheck[] {
  const of = (state: HostCheck['state']) => host.checks.filter((each) => each.state === state);
  return [...of('problem'), ...of('warning')];
}

/** Numbers as short as a plan has them: 0-3, 8. */
export function playsText(plays: readonly number[]): string {
  const stretches: [number, number][] = [];
  for (const number of plays.toSorted((a, b) => a - b)) {
    const last = stretches.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else stretches.push([number, number]);
  }
  return stretches.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(', ');
}

/** How many hosts there are, and how many are in another state than ready. */
export function countText(hosts: readonly HostState[]): string {
  const others = (['busy', 'warning', 'problem', 'asking'] as const).map((state) => {
    const count = hosts.filter((host) => host.state === state).length;
    return count === 0 ? '' : `${count} ${WORDS[state]}`;
  });
  const all = hosts.length === 1 ? '1 host' : `${hosts.length} hosts`;
  return [all, ...others.filter((text) => text !== '')].join(', ');
}

const WORDS = {
  busy: 'busy with a run',
  warning: 'with a warning',
  problem: 'that cannot carry a run',
  asking: 'without an answer yet',
};

/** What a user should know before choosing the hosts of a file. */
export function choiceText(file: HostsFile): string {
  return file.error === '' ? countText(file.hosts) : 'cannot be asked';
}

/** The facts of a host that `fabricbench show` prints, each with what it is called. */
export const SHOWN_FACTS = [
  ['kernel', 'Kernel'],
  ['interface', 'Interface'],
  ['driver', 'Adapter'],
  ['firmware', 'Firmware'],
  ['mtu_bytes', 'MTU'],
] as const;

/** The times of a host that the record has in nanoseconds, each with what it is called. */
export const TIMES = [
  ['Clock', (host: EngineHost) => host.clock_offset_ns],
  ['Drift', (host: EngineHost) => host.clock_drift_ns],
  ['Known to', (host: EngineHost) => host.clock_error_ns],
  ['Late', (host: EngineHost) => host.endpoint.start_skew_ns],
] as const;

/** Those times in microseconds; null where they are not known. */
export function timesOf(host: EngineHost): (number | null)[] {
  return TIMES.map(([, of]) => {
    const ns = of(host);
    return ns === undefined ? null : ns / 1e3;
  });
}

/** Every name that the endpoints of some hosts counted under, in alphabetical order. */
export function endpointNames(hosts: readonly EngineHost[]): string[] {
  return [...new Set(hosts.flatMap((host) => Object.keys(host.endpoint)))].toSorted();
}
