/** Addresses of the views of a trial that show a port, a link, a switch or a host, by its name in a diagnosis. */
import { query } from '../../api/client';

/** View with the rows of a location: links on the map and in their table, ports of a switch or host. */
export function locationAddress(trial: string, name: string): string | null {
  const [, node, port, peer] = /^(\S+) port (\d+)(?: to (\S+))?$/.exec(name) ?? [];
  if (node !== undefined && port !== undefined) {
    return peer === undefined
      ? view(trial, 'ports', [`node:eq:${node}`, `port:eq:${port}`])
      : view(trial, 'links', [`from:eq:${node}`, `from_port:eq:${port}`]);
  }
  const [, from, to] = /^([a-z]+\d+)-([a-z]+\d+)$/.exec(name) ?? [];
  if (from !== undefined && to !== undefined) return view(trial, 'links', [`from:eq:${from}`, `to:eq:${to}`]);
  return /^[a-z]+\d+$/.test(name) ? view(trial, 'ports', [`node:eq:${name}`]) : null;
}

function view(trial: string, key: string, where: string[]): string {
  return `/trials/${trial}/${key}${query({ where })}`;
}
