/** Fields of a form that describe a cluster: server, number of servers, fabric. */
import { NumberInput, Select } from '@mantine/core';

import type { ClusterParts } from '../../api/queries';
import type { ClusterChoices } from '../../api/types';

interface Props {
  choices: ClusterChoices;
  cluster: ClusterParts;
  onChange: (values: Partial<ClusterParts>) => void;
}

export function ClusterFields({ choices, cluster, onChange }: Props) {
  return (
    <>
      <Select
        label="Server"
        data={choices.servers}
        value={cluster.cluster}
        onChange={(name) => name !== null && onChange({ cluster: name })}
        allowDeselect={false}
        searchable
      />
      <NumberInput
        label="Servers"
        w={110}
        min={1}
        max={choices.servers_max}
        allowDecimal={false}
        value={cluster.servers}
        onChange={(number) => onChange({ servers: Number(number) })}
      />
      <Select
        label="Fabric"
        data={choices.topologies}
        value={cluster.topology}
        onChange={(topology) => topology !== null && onChange({ topology })}
        allowDeselect={false}
      />
    </>
  );
}
