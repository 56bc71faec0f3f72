/**
 * Result of an import: table of the imported runs with their data sizes, and warnings about omitted parts of the
 * file.
 */
import { List, Text, Title } from '@mantine/core';
import { Link } from 'react-router';

import type { Imported } from '../../api/types';
import { DataTable, type TableColumn } from '../../components/table/DataTable';
import { dataSize } from '../../format/numbers';
import { IMPORT_LABELS, type ImportedRun, runsOf, withFormLabels } from './importFile';

const WARNINGS_SHOWN = 50;

export function ImportedRuns({ imported }: { imported: Imported }) {
  const { trials, warnings } = imported;
  return (
    <section className="panel" style={{ padding: '10px 14px' }} aria-label="Imported" role="status">
      <Title order={2} mb={6}>
        Imported {trials.length === 1 ? '1 result' : `${trials.length} results`} of {imported.format}
      </Title>
      <DataTable
        label="Imported runs"
        columns={COLUMNS}
        rows={runsOf(trials)}
        rowKey={({ suite }) => suite}
      />
      {warnings.length > 0 ? <Warnings warnings={warnings} /> : null}
    </section>
  );
}

const COLUMNS: TableColumn<ImportedRun>[] = [
  {
    title: 'Run',
    cell: ({ trials: [first] }) => (first ? <Link to={`/trials/${first.id}`}>{first.plan}</Link> : null),
  },
  { title: 'Benchmark', cell: ({ trials: [first] }) => first?.title },
  { title: 'Results', right: true, cell: ({ trials }) => trials.length },
  { title: 'Sizes', cell: sizesText },
];

function sizesText({ trials }: ImportedRun): string {
  const sizes = trials.map((trial) => trial.data_size_bytes);
  const [smallest, largest] = [dataSize(Math.min(...sizes)), dataSize(Math.max(...sizes))];
  return smallest === largest ? smallest : `${smallest} to ${largest}`;
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
          <List.Item key={index}>{withFormLabels(warning, IMPORT_LABELS)}</List.Item>
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
