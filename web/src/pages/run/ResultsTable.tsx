/**
 * Folded table of all results of a run, one row for each job of each trial: failed ones first, then by the share of
 * the ideal. Columns are what differs between the results.
 */
import { Badge, Text } from '@mantine/core';
import { Link } from 'react-router';

import { useMetrics } from '../../api/queries';
import type { Metric, ResultsOfRun, RunResult } from '../../api/types';
import { StatusBadge } from '../../components/StatusBadge';
import { DataTable, type TableColumn } from '../../components/table/DataTable';
import { metricText, scaled, titleWithUnit, unitFor } from '../../format/metrics';
import { counted, fixed } from '../../format/numbers';
import { fieldTitle } from '../../format/sweep';

interface Props {
  results: ResultsOfRun;
  /** Whether the table is open at first. */
  isOpen: boolean;
}

export function ResultsTable({ results, isOpen }: Props) {
  const metrics = useMetrics();
  const rows = results.results;
  const has = (value: (row: RunResult) => unknown) =>
    rows.some((row) => value(row) != null && value(row) !== '');
  const columns: (TableColumn<RunResult> | false)[] = [
    {
      title: 'Verdict',
      cell: ({ status, verdict, missed }) => <Verdict status={status} verdict={verdict} missed={missed} />,
    },
    ...results.dimensions.map((name, index): TableColumn<RunResult> => ({
      title: fieldTitle(name),
      hint: name,
      cell: ({ values }) => values[index],
    })),
    ...metrics
      .filter(({ name }) => has((row) => row.metrics[name]))
      .map((metric) => metricColumn(metric, rows)),
    has((row) => row.kept_percent) && {
      title: 'Retained [%]',
      hint: 'Bus bandwidth relative to the job alone',
      right: true,
      cell: ({ kept_percent }) => fixed(kept_percent, 1),
    },
    rows.some(({ iteration }) => iteration > 0) && {
      title: 'Iteration',
      right: true,
      cell: ({ iteration }) => iteration,
    },
    { title: 'Trial', className: 'mono', cell: ({ trial }) => <Link to={`/trials/${trial}`}>{trial}</Link> },
  ];
  return (
    <details className="panel folded" open={isOpen}>
      <summary>
        {counted(results.total)} {results.total === 1 ? 'result' : 'results, worst first'}
      </summary>
      <div style={{ overflowX: 'auto' }}>
        <DataTable
          label="Results of the run"
          columns={columns.filter((column) => column !== false)}
          rows={rows}
          rowKey={({ trial, job }, index) => `${trial} ${job} ${index}`}
        />
      </div>
      {results.total > rows.length ? (
        <Text size="sm" className="muted" p="xs">
          The {counted(rows.length)} worst of {counted(results.total)} results.
        </Text>
      ) : null}
    </details>
  );
}

function metricColumn(metric: Metric, rows: readonly RunResult[]): TableColumn<RunResult> {
  const valueOf = (row: RunResult) => row.metrics[metric.name] ?? null;
  const shown = unitFor(metric, rows.map(valueOf));
  return {
    title: titleWithUnit(metric.title, shown.unit),
    right: true,
    cell: (row) => metricText(scaled(valueOf(row), shown), metric),
  };
}

function Verdict({ status, verdict, missed }: Pick<RunResult, 'status' | 'verdict' | 'missed'>) {
  if (status !== 'complete') return <StatusBadge status={status} />;
  if (verdict === null) return <span className="muted">no criterion</span>;
  return (
    <>
      <Badge color={verdict === 'pass' ? 'teal' : 'red'}>{verdict === 'pass' ? 'met' : 'not met'}</Badge>{' '}
      {missed}
    </>
  );
}
