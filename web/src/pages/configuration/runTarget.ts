/**
 * Where a plan runs (its backend or a file of hosts), and whether the simulator predicts each trial: reads it from
 * the URL, builds request fields and menu items.
 */
import type { HostsFile } from '../../api/types';
import { hostsFileText } from '../../format/hosts';

export interface RunTarget {
  /** Name of the file of hosts; null for the backend of the plan. */
  hosts: string | null;
  /** Whether the simulator predicts each trial in addition. */
  twin: boolean;
}

/** Target selected in the URL of the page. */
export function runTargetOf(search: URLSearchParams): RunTarget {
  const hosts = search.get('hosts');
  return { hosts, twin: hosts !== null && search.get('twin') === 'true' };
}

/** Fields of a request to run or check a plan on the target. */
export function requestOf({ hosts, twin }: RunTarget): { backend?: string; hosts?: string; twin?: boolean } {
  return hosts === null ? {} : { backend: 'hosts', hosts, twin };
}

const AS_PLANNED = '';

/** Items of the menu of targets; a name in the URL that the server lacks stays, so that its error is shown. */
export function targetChoices(
  files: readonly HostsFile[],
  { hosts }: RunTarget,
  backend: string | undefined,
): { value: string; label: string; disabled?: boolean }[] {
  const planned = (backend ?? 'sim') === 'sim' ? 'Simulator' : `Backend ${backend}`;
  const offered = files.map((file) => ({
    value: file.name,
    label: `Hosts ${file.name}: ${hostsFileText(file)}`,
    disabled: file.error !== '',
  }));
  const isOffered = hosts === null || files.some(({ name }) => name === hosts);
  const missing = isOffered ? [] : [{ value: hosts, label: `Hosts ${hosts}` }];
  return [{ value: AS_PLANNED, label: planned }, ...offered, ...missing];
}
