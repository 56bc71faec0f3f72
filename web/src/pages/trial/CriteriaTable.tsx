/**
 * Table of the acceptance criteria that a plan sets for metrics, per job: limit, measured value, and whether it is
 * met.
 */
import { Badge, Paper, Text, Title } from '@mantine/core';

import { useMetrics } from '../../api/queries';
import type { CriterionResult, JobDetail } from '../../api/types';
import { DataTable, type TableColumn } from '../../components/table/DataTable';
import { limitText } from '../../format/criteria';
import { significant } from '../../format/numbers';

interface CriterionRow {
  job: string;
  criterion: CriterionResult;
}

export function CriteriaTable({ jobs }: { jobs: JobDetail[] }) {
  const metrics = useMetrics();
  const rows = jobs.flatMap(({ job, criteria }) => criteria.map((criterion) => ({ job, criterion })));
  if (rows.length === 0) return null;
  const columns: TableColumn<CriterionRow>[] = [
    { title: 'Job', cell: ({ job }) => job },
    { title: 'Criterion', cell: ({ criterion }) => limitText(metrics, criterion) },
    { title: 'Measured', right: true, cell: ({ criterion }) => significant(criterion.value, 6) },
    { title: 'Verdict', cell: ({ criterion }) => <Verdict criterion={criterion} /> },
  ];
  return (
    <Paper withBorder p="sm">
      <Title order={2} mb={6}>
        Acceptance criteria
      </Title>
      <DataTable columns={columns} rows={rows} />
    </Paper>
  );
}

function Verdict({ criterion: { value, passed } }: { criterion: CriterionResult }) {
  if (value === null) return <Text size="sm">not measured</Text>;
  return <Badge color={passed ? 'teal' : 'red'}>{passed ? 'met' : 'not met'}</Badge>;
}
