/**
 * Page that imports the output of a benchmark on a real fabric, such as nccl-tests: file, options, import button,
 * errors, imported runs.
 */
import { Button, Group, Stack, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { useNavigate } from 'react-router';

import { type Import, useImporting } from '../../api/queries';
import type { Imported } from '../../api/types';
import { FileDrop, fileText } from './FileDrop';
import { IMPORT_LABELS, runsOf, sizeProblem } from './importFile';
import { ImportedRuns } from './ImportedRuns';
import { ImportOptions, NO_OPTIONS, type Options } from './ImportOptions';
import { RefusedFile } from './RefusedFile';

export function Component() {
  const [file, setFile] = useState<File | null>(null);
  const [options, setOptions] = useState<Options>(NO_OPTIONS);
  const importing = useImportAndOpen();
  const select = (selected: File | null) => {
    importing.reset();
    setFile(selected);
  };
  const problem = file === null ? null : sizeProblem(file);
  return (
    <Stack gap="sm" maw={980}>
      <div>
        <Title order={1}>Import measured results</Title>
        <Text size="sm" className="muted">
          The output of nccl-tests, perftest, the OSU micro-benchmarks, Intel MPI Benchmarks or NCCL
          Inspector, as text or JSON. Each result becomes a trial in the list with simulated ones.
        </Text>
      </div>
      <FileDrop
        status={file === null ? 'or drop one here' : fileText(file)}
        onFiles={([first]) => select(first ?? null)}
      />
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
      {importing.isError && file !== null ? (
        <RefusedFile
          title="Nothing was imported"
          error={importing.error}
          file={file}
          labels={IMPORT_LABELS}
        />
      ) : null}
      {importing.data !== undefined ? <ImportedRuns imported={importing.data} /> : null}
    </Stack>
  );
}

/** Opens the imported run, unless there are several or warnings. */
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
    mutate: (request: Import) => importing.mutate(request, { onSuccess: open }),
  };
}
