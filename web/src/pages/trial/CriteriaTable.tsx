import { Badge, Paper, Text, Title } from '@mantine/core';

import { useMetrics } from '../../api/queries';
import type { CriterionResult, JobDetail, Metric } from '../../api/types';
import { metricLabel } from '../../format/metrics';
import { significant } from '../../format/numbers';

/** The plan's acceptance criteria, met or not. */
export function Criteria({ jobs }: { jobs: JobDetail[] }) {
  const metrics = useMetrics();
  const rows = jobs.flatMap((job) => job.criteria.map((criterion) => ({ job: job.job, criterion })));
  if (rows.length === 0) return null;
  return (
    <Paper withBorder p="sm">
      <Title order={2} mb={6}>
        Acceptance criteria
      </Title>
      <table className="plain">
        <thead>
          <tr>
            <th>Job</th>
            <th>Criterion</th>
            <th className="right">Measured</th>
            <th>Verdict</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ job, criterion }, index) => (
            <tr key={index}>
              <td>{job}</td>
              <td>{limitText(metrics, criterion)}</td>
              <td className="right">{significant(criterion.value, 6)}</td>
              <td>
                <Verdict criterion={criterion} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Paper>
  );
}

function limitText(metrics: readonly Metric[], criterion: CriterionResult) {
  const bounds = [
    typeof criterion.min === 'number' ? `at least ${significant(criterion.min, 6)}` : '',
    typeof criterion.max === 'number' ? `at most ${significant(criterion.max, 6)}` : '',
    criterion.limit ?? '',
  ];
  return `${metricLabel(metrics, criterion.metric)} ${bounds.filter(Boolean).join(', ')}`;
}

function Verdict({ criterion: { value, passed } }: { criterion: CriterionResult }) {
  if (value === null) return <Text size="sm">not measured</Text>;
  return <Badge color={passed ? 'teal' : 'red'}>{passed ? 'met' : 'not met'}</Badge>;
}
