import { List, Text, Title } from '@mantine/core';
import { Link } from 'react-router';

import type { Imported } from '../../api/types';
import { dataSize } from '../../format/numbers';
import { type ImportedRun, inFormWords, runsOf } from './importFile';

const WARNINGS_SHOWN = 50;

/** What became of a file: its runs, and what was left out. */
export function ImportedRuns({ imported }: { imported: Imported }) {
  const { trials, warnings } = imported;
  return (
    <section className="panel" style={{ padding: '10px 14px' }} aria-label="Imported" role="status">
      <Title order={2} mb={6}>
        Imported {trials.length === 1 ? '1 result' : `${trials.length} results`} of {imported.format}
      </Title>
      <table className="plain" aria-label="Imported runs">
        <thead>
          <tr>
            <th scope="col">Run</th>
            <th scope="col">Benchmark</th>
            <th scope="col" className="right">
              Results
            </th>
            <th scope="col">Sizes</th>
          </tr>
        </thead>
        <tbody>
          {runsOf(trials).map((run) => (
            <Row key={run.suite} run={run} />
          ))}
        </tbody>
      </table>
      {warnings.length > 0 ? <Warnings warnings={warnings} /> : null}
    </section>
  );
}

function Row({ run }: { run: ImportedRun }) {
  const [first] = run.trials;
  if (first === undefined) return null;
  const sizes = run.trials.map((trial) => trial.data_size_bytes);
  const [smallest, largest] = [Math.min(...sizes), Math.max(...sizes)];
  return (
    <tr>
      <td>
        <Link to={`/trials/${first.id}`}>{first.plan}</Link>
      </td>
      <td>{first.title}</td>
      <td className="right">{run.trials.length}</td>
      <td>{smallest === largest ? dataSize(smallest) : `${dataSize(smallest)} to ${dataSize(largest)}`}</td>
    </tr>
  );
}

function Warnings({ warnings }: { warnings: readonly string[] }) {
  const more = warnings.length - WARNINGS_SHOWN;
  return (
    <>
      <Title order={3} mt="sm" mb={4}>
        Left out
      </Title>
      <List size="sm" style={{ maxHeight: 220, overflow: 'auto' }}>
        {warnings.slice(0, WARNINGS_SHOWN).map((warning, index) => (
          <List.Item key={index}>{inFormWords(warning)}</List.Item>
        ))}
      </List>
      {more > 0 ? (
        <Text size="sm" className="muted">
          and {more} more
        </Text>
      ) : null}
    </>
  );
}
