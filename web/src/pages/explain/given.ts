/** Form of the explain page: its values, labels, and the request that they make. */
import type { ClusterParts, FileToExplain } from '../../api/queries';
import type { Given } from '../../api/types';
import type { FormLabels } from '../imports/importFile';

export type FabricKind = 'unknown' | 'cluster' | 'plan';

export interface FormValues {
  kind: FabricKind;
  /** The cluster; null until one is chosen. */
  cluster: ClusterParts | null;
  plan: string;
  rate: string;
  adapters: string;
  ranks: string;
  benchmark: string;
  nccl: string;
  uplinks: string[];
}

export const NO_VALUES: FormValues = {
  kind: 'unknown',
  cluster: null,
  plan: '',
  rate: '',
  adapters: '',
  ranks: '',
  benchmark: '',
  nccl: '',
  uplinks: [],
};

export const EXPLAIN_LABELS: FormLabels = {
  plan: 'Plan',
  cluster: 'Server',
  servers: 'Servers',
  topology: 'Fabric',
  rate: 'Rate of an adapter',
  adapters: 'Adapters of a host',
  ranks: 'Ranks',
  benchmark: 'Benchmark',
  nccl: 'NCCL version',
  uplinks: 'Uplinks',
  before: 'Counters before the run',
};

/** Values of the request; those of a fabric that is not chosen are empty. */
export function givenOf({ kind, cluster, plan, adapters, ranks, ...values }: FormValues): Given {
  const parts =
    kind === 'cluster' && cluster !== null ? cluster : { cluster: '', servers: null, topology: '' };
  return {
    ...values,
    ...parts,
    plan: kind === 'plan' ? plan : '',
    adapters: adapters === '' ? null : Number(adapters),
    ranks: ranks === '' ? null : Number(ranks),
  };
}

/** Files to send: the chosen ones and the text in the field, if there is any. */
export function filesOf(files: readonly FileToExplain[], text: string): FileToExplain[] {
  if (text.trim() === '') return [...files];
  return withFiles(files, [new File([text], 'pasted.txt', { type: 'text/plain' })]);
}

/** Adds files; one with the name of another gets a number, since errors name their file. */
export function withFiles(files: readonly FileToExplain[], added: readonly File[]): FileToExplain[] {
  const names = new Set(files.map(({ file }) => file.name));
  const all = [...files];
  for (const file of added) {
    const name = freeName(file.name, names);
    names.add(name);
    all.push({
      file: name === file.name ? file : new File([file], name, { type: file.type }),
      earlier: false,
    });
  }
  return all;
}

/** The name, or with the first free number before its extension: `pasted-2.txt`. */
function freeName(name: string, taken: ReadonlySet<string>): string {
  const [, stem = name, extension = ''] = /^(.+?)(\.[^.]*)?$/s.exec(name) ?? [];
  let free = name;
  for (let number = 2; taken.has(free); number += 1) free = `${stem}-${number}${extension}`;
  return free;
}
