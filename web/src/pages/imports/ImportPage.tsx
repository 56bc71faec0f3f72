/** Results measured on a real fabric become trials: a file, what it does not say itself, and what is wrong with it. */
import { Button, Group, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { useNavigate } from 'react-router';

import { type Import, useImporting } from '../../api/queries';
import type { Imported } from '../../api/types';
import { FileDrop } from './FileDrop';
import { ImportedRuns } from './ImportedRuns';
import { ImportOptions, NO_OPTIONS, type Options } from './ImportOptions';
import { Refusal } from './RefusedImport';
import { runsOf, sizeProblem } from './importFile';

export function Component() {
  useDocumentTitle('Import · fabricbench');
  const [file, setFile] = useState<File | null>(null);
  const [options, setOptions] = useState<Options>(NO_OPTIONS);
  const importing = useImportAndOpen();
  const choose = (chosen: File | null) => {
    importing.reset();
    setFile(chosen);
  };
  const problem = file === null ? null : sizeProblem(file);
  return (
    <Stack gap="sm" maw={980}>
      <div>
        <Title order={1}>Import measured results</Title>
        <Text size="sm" className="muted">
          The output of nccl-tests, perftest, the OSU micro-benchmarks, Intel MPI Benchmarks or NCCL
          Inspector, as text or JSON. Each result becomes a trial that stands beside simulated ones.
        </Text>
      </div>
      <FileDrop file={file} onFile={choose} />
      <ImportOptions options={options} onChange={setOptions} />
      <Group>
        <Button
          disabled={file === null || problem !== null}
          loading={importing.isPending}
          onClick={() => file !== null && importing.mutate({ file, ...options })}
        >
          Import
        </Button>
        {problem !== null ? (
          <Text size="sm" className="worse" role="alert">
            {problem}
          </Text>
        ) : null}
      </Group>
      {importing.isError && file !== null ? <Refusal error={importing.error} file={file} /> : null}
      {importing.data !== undefined ? <ImportedRuns imported={importing.data} /> : null}
    </Stack>
  );
}

/** Opens what was imported at once, unless there is something to read or to choose first. */
function useImportAndOpen() {
  const navigate = useNavigate();
  const importing = useImporting();
  const open = (imported: Imported) => {
    const runs = runsOf(imported.trials);
    const [first] = runs;
    if (first === undefined || runs.length > 1 || imported.warnings.length > 0) return;
    notifications.show({ message: `Imported ${first.trials.length} results of ${imported.format}` });
    void navigate(`/trials/${first.trials[0]?.id ?? ''}`);
  };
  return {
    ...importing,
    mutate: (wanted: Import) => importing.mutate(wanted, { onSuccess: open }),
  };
}
