/**
 * Page that explains pasted or dropped benchmark output: files and fabric on the left; on the right the measured
 * points on the expected curve, likely causes and the next test.
 */
import { Button, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';

import { ApiError } from '../../api/client';
import { type FileToExplain, useExplaining } from '../../api/queries';
import { Empty, Loading } from '../../components/QueryStates';
import { sizeProblem } from '../imports/importFile';
import { RefusedFile } from '../imports/RefusedFile';
import { Explanation } from './Explanation';
import { FabricPanel } from './FabricPanel';
import { FilesPanel } from './FilesPanel';
import { EXPLAIN_LABELS, filesOf, givenOf, NO_VALUES } from './given';

export function Component() {
  const [files, setFiles] = useState<FileToExplain[]>([]);
  const [text, setText] = useState('');
  const [values, setValues] = useState(NO_VALUES);
  const explaining = useExplaining();
  const all = filesOf(files, text);
  const problem = all.map(({ file }) => sizeProblem(file)).find((each) => each !== null) ?? null;
  const needsFabric =
    (values.kind === 'cluster' && !values.cluster?.cluster) || (values.kind === 'plan' && values.plan === '');
  return (
    <Stack gap="sm">
      <div>
        <Title order={1}>Why is my cluster slow?</Title>
        <Text size="sm" className="muted">
          Measured bandwidth next to the expected one, with likely causes and the test that separates them.
          Nothing is stored.
        </Text>
      </div>
      <div className="explain">
        <Stack gap="sm">
          <FilesPanel files={files} text={text} onFiles={setFiles} onText={setText} />
          <FabricPanel
            values={values}
            onChange={(changed) => setValues((before) => ({ ...before, ...changed }))}
          />
          <Button
            disabled={all.length === 0 || problem !== null || needsFabric}
            loading={explaining.isPending}
            onClick={() => explaining.mutate({ files: all, given: givenOf(values) })}
          >
            Explain
          </Button>
          {problem === null ? null : (
            <Text size="sm" className="worse" role="alert">
              {problem}
            </Text>
          )}
        </Stack>
        <Stack gap="sm" miw={0}>
          <Answer explaining={explaining} />
        </Stack>
      </div>
    </Stack>
  );
}

function Answer({ explaining }: { explaining: ReturnType<typeof useExplaining> }) {
  const { data, error, isPending, variables } = explaining;
  if (isPending) return <Loading name="the explanation" />;
  if (error !== null) return <Refused error={error} files={variables.files} />;
  if (data !== undefined) return <Explanation explained={data} />;
  return (
    <Empty title="Paste what a benchmark printed">
      nccl-tests with NCCL_DEBUG=INFO says most, in one output or as a table and logs. Add counters of
      switches and hosts, or a switch&apos;s config_db.json, as further files.
    </Empty>
  );
}

function Refused({ error, files }: { error: unknown; files: readonly FileToExplain[] }) {
  const name = error instanceof ApiError ? error.problem.file : null;
  const { file } = files.find((each) => each.file.name === name) ?? files[0] ?? {};
  if (file === undefined) return null;
  return <RefusedFile title="Nothing was explained" error={error} file={file} labels={EXPLAIN_LABELS} />;
}
