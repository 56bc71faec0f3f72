/**
 * Tiles of the first jobs of a trial with several jobs: verdict, completion time, headline metrics, missed criteria,
 * bandwidth against alone. All figures of a tile are of its job; the other jobs are in a folded table.
 */
import { Badge, Group, Paper, SimpleGrid, Text } from '@mantine/core';
import { Link } from 'react-router';

import { useMetrics } from '../../api/queries';
import type { JobDetail, Metric } from '../../api/types';
import { StatusBadge } from '../../components/StatusBadge';
import { DataTable, type TableColumn } from '../../components/table/DataTable';
import { limitText } from '../../format/criteria';
import { jobName } from '../../format/jobs';
import {
  metricOf,
  metricsOf,
  metricText,
  scaled,
  titleWithUnit,
  unitFor,
  valueWithUnit,
} from '../../format/metrics';
import { dataSize, fixed } from '../../format/numbers';

/** Number of jobs with tiles. */
const SHOWN = 4;

export function JobTiles({ jobs }: { jobs: JobDetail[] }) {
  const metrics = useMetrics();
  const shown = jobs.slice(0, SHOWN);
  return (
    <>
      <SimpleGrid cols={shown.length} spacing="xs">
        {shown.map((job) => (
          <JobTile key={`${job.job} ${job.data_size_bytes}`} name={jobName(jobs, job)} job={job} />
        ))}
      </SimpleGrid>
      {jobs.length > SHOWN ? (
        <details className="panel folded">
          <summary>All {jobs.length} jobs</summary>
          <DataTable label="Jobs" columns={jobColumns(metrics, jobs)} rows={jobs} />
        </details>
      ) : null}
    </>
  );
}

/** Metric at the head of a tile, and the one of the large figure. */
function headlinesOf(metrics: readonly Metric[], job: JobDetail): Metric[] {
  return metricsOf(metrics, 'tiles', job).filter(
    (metric) => metric.scope === 'job' && metricOf(job, metric) !== null,
  );
}

function JobTile({ name, job }: { name: string; job: JobDetail }) {
  const metrics = useMetrics();
  const [first, ...others] = headlinesOf(metrics, job);
  const missed = job.criteria.filter(({ passed }) => !passed);
  return (
    <Paper withBorder px="sm" py={8} component="section" aria-label={`Job ${name}`}>
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <Text size="sm" truncate title={workText(job)}>
          <b>{name}</b> <span className="muted">{workText(job)}</span>
        </Text>
        <JobVerdict job={job} />
      </Group>
      {job.status === 'complete' && first !== undefined ? (
        <Text fw={600} fz={20} className="num" lh={1.3} title={first.title}>
          {valueWithUnit(metricOf(job, first), first)}
        </Text>
      ) : (
        <Text fw={600} fz={16} lh={1.3} className="worse">
          {job.status === 'complete' ? 'not measured' : job.status}
        </Text>
      )}
      {job.reason ? <Text size="xs">{job.reason}</Text> : null}
      <Text size="sm" className="num">
        {others
          .slice(0, 2)
          .map((metric) =>
            [
              valueWithUnit(metricOf(job, metric), metric),
              metric.unit === '%' ? 'of ideal' : metric.label,
            ].join(' '),
          )
          .join(' · ')}
      </Text>
      {missed.map((criterion) => (
        <Text key={criterion.metric} size="xs" className="worse">
          criterion: {limitText(metrics, criterion)}
        </Text>
      ))}
      {job.alone === null ? null : (
        <Text size="xs" className="muted">
          {fixed(job.alone.kept_percent, 1)} % of its bandwidth{' '}
          <Link to={`/trials/${job.alone.trial}`}>alone</Link>
        </Text>
      )}
    </Paper>
  );
}

function workText({ collective, algorithm, ranks, data_size_bytes: size }: JobDetail): string {
  const work = [collective, algorithm].filter((part) => part !== null && part !== '').join(', ');
  return [work, `${ranks} ranks`, dataSize(size)].filter((part) => part !== '').join(' · ');
}

function JobVerdict({ job: { status, verdict } }: { job: JobDetail }) {
  if (status === 'complete' && verdict === null) return null;
  if (status === 'complete' && verdict === 'pass') return <Badge color="teal">met</Badge>;
  return <StatusBadge status={status} verdict={verdict} />;
}

function jobColumns(metrics: readonly Metric[], jobs: JobDetail[]): TableColumn<JobDetail>[] {
  const shown = metrics.filter((metric) => jobs.some((job) => headlinesOf(metrics, job).includes(metric)));
  return [
    { title: 'Job', isHeading: true, cell: (job) => jobName(jobs, job) },
    { title: 'Verdict', cell: (job) => <JobVerdict job={job} /> },
    { title: 'Work', cell: workText },
    ...shown.map((metric) => metricColumn(metric, jobs)),
  ];
}

function metricColumn(metric: Metric, jobs: JobDetail[]): TableColumn<JobDetail> {
  const shown = unitFor(
    metric,
    jobs.map((job) => metricOf(job, metric)),
  );
  return {
    title: titleWithUnit(metric.title, shown.unit),
    right: true,
    cell: (job) => metricText(scaled(metricOf(job, metric), shown), metric),
  };
}
