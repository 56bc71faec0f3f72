/** What the page about hosts says, in words. */
import type { HostCheck, HostState } from '../../api/types';

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
