/** The cluster of an expected curve in the query parameters of the page's URL. */
import type { Cluster } from '../../api/queries';

/** The cluster of the URL; null without one. */
export function clusterOf(search: URLSearchParams): Cluster | null {
  const cluster = search.get('cluster');
  if (cluster === null) return null;
  return {
    cluster,
    servers: Number(search.get('servers') ?? 2),
    topology: search.get('topology') ?? 'rail-optimised',
    collective: search.get('collective') ?? 'all-reduce',
    seeds: Number(search.get('seeds') ?? 1),
  };
}

export function searchOf({ servers, seeds, ...names }: Cluster): Record<string, string> {
  return { ...names, servers: String(servers), seeds: String(seeds) };
}
