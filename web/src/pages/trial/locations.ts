/** Addresses of the views of a trial that show a port, a link, a switch or a host, by its name in a diagnosis. */
import { query } from '../../api/client';

/**
 * View of a location: ports of ranks on the port map; links between switches on the map of links and in their table;
 * all ports of a switch or host.
 */
export function locationAddress(trial: string, name: string): string | null {
  const [, node, port, peer] = /^(\S+) port (\d+)(?: to (\S+))?$/.exec(name) ?? [];
  if (node !== undefined && port !== undefined) {
    const isOfRank = peer === undefined || [node, peer].some((end) => /^(host|server)\d+$/.test(end));
    return isOfRank
      ? `/trials/${trial}/port-map${query({ at: `${node} port ${port}` })}`
      : view(trial, 'links', [`from:eq:${node}`, `from_port:eq:${port}`]);
  }
  const [, from, to] = /^([a-z]+\d+)-([a-z]+\d+)$/.exec(name) ?? [];
  if (from !== undefined && to !== undefined) return view(trial, 'links', [`from:eq:${from}`, `to:eq:${to}`]);
  return /^[a-z]+\d+$/.test(name) ? view(trial, 'ports', [`node:eq:${name}`]) : null;
}

/** Counters of a port, such as `leaf0 port 3`. */
export function countersAddress(trial: string, at: string): string {
  const [node, port] = at.split(' port ');
  return view(trial, 'ports', [`node:eq:${node}`, `port:eq:${port}`]);
}

function view(trial: string, key: string, where: string[]): string {
  return `/trials/${trial}/${key}${query({ where })}`;
}
