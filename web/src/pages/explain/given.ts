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
  const names = new Set(files.map(({ file }) => file.name));
  let number = 1;
  while (names.has(pastedName(number))) number += 1;
  return [...files, { file: new File([text], pastedName(number), { type: 'text/plain' }), earlier: false }];
}

function pastedName(number: number) {
  return number === 1 ? 'pasted.txt' : `pasted-${number}.txt`;
}
