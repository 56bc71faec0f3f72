/** Drop area for a file of a device (SONiC, containerlab, NCCL), of which the server makes a plan. */
import { Stack, Text } from '@mantine/core';
import { useState } from 'react';

import type { MadePlan } from '../../../api/types';
import { FileDrop, fileText } from '../../imports/FileDrop';
import { sizeProblem } from '../../imports/importFile';
import { RefusedFile } from '../../imports/RefusedFile';
import { useDevicePlan } from './queries';

export function DeviceFile({ onMade }: { onMade: (plan: MadePlan) => void }) {
  const [file, setFile] = useState<File | null>(null);
  const making = useDevicePlan();
  const problem = file === null ? null : sizeProblem(file);
  const read = ([first]: File[]) => {
    if (first === undefined) return;
    setFile(first);
    making.reset();
    if (sizeProblem(first) === null) making.mutate(first, { onSuccess: onMade });
  };
  return (
    <Stack gap="sm" maw={760}>
      <FileDrop status={file === null ? 'or drop it here' : (problem ?? fileText(file))} onFiles={read}>
        <Text size="sm" mb="sm">
          SONiC&apos;s <code>config_db.json</code>, a containerlab topology (<code>.clab.yml</code>), or
          NCCL&apos;s topology or graphs (<code>NCCL_TOPO_DUMP_FILE</code>, <code>NCCL_GRAPH_DUMP_FILE</code>
          ). What the file does not have is assumed, and listed.
        </Text>
      </FileDrop>
      {making.isError && file !== null ? (
        <RefusedFile title="No plan can be made of this file" error={making.error} file={file} labels={{}} />
      ) : null}
    </Stack>
  );
}
