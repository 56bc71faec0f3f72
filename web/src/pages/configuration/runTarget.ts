/** Where a plan is run: by what its text says, or on the hosts of a file of the server. */
import type { HostsFile } from '../../api/types';
import { choiceText } from '../../format/hosts';

export interface Where {
  /** Name of the file of hosts; null to run the plan as it says. */
  hosts: string | null;
  /** Whether the simulator predicts each trial as well. */
  twin: boolean;
}

/** What is chosen, as the address of the page has it. */
export function whereOf(search: URLSearchParams): Where {
  const hosts = search.get('hosts');
  return { hosts, twin: hosts !== null && search.get('twin') === 'true' };
}

/** What a request says beside the plan. */
export function requestOf({ hosts, twin }: Where): { backend?: string; hosts?: string; twin?: boolean } {
  return hosts === null ? {} : { backend: 'hosts', hosts, twin };
}

const AS_PLANNED = '';

/** What there is to choose from; a name of the address that the server does not have stays, to be told. */
export function choices(
  files: readonly HostsFile[],
  { hosts }: Where,
  backend: string | undefined,
): { value: string; label: string; disabled?: boolean }[] {
  const named = (backend ?? 'sim') === 'sim' ? 'Simulator' : `Backend ${backend}`;
  const offered = files.map((file) => ({
    value: file.name,
    label: `Hosts ${file.name}: ${choiceText(file)}`,
    disabled: file.error !== '',
  }));
  const isKnown = hosts === null || files.some(({ name }) => name === hosts);
  const missing = isKnown ? [] : [{ value: hosts, label: `Hosts ${hosts}` }];
  return [{ value: AS_PLANNED, label: named }, ...offered, ...missing];
}
