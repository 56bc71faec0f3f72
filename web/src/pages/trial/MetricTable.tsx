/**
 * Table of the metrics of a trial's jobs, grouped by where they are observed, the main ones at first and all on
 * request, with a column per job; FabricMetrics is the block of the counters of the whole fabric.
 */
import { Button, Group, Paper, Title } from '@mantine/core';
import { useState } from 'react';

import { useMetrics } from '../../api/queries';
import type { JobDetail, Metric } from '../../api/types';
import { DataTable, Scrolled, type TableColumn } from '../../components/table/DataTable';
import { MetricValue } from '../../components/table/MetricCells';
import { jobName } from '../../format/jobs';
import { fabricMetricOf, metricOf, scaled, titleWithUnit, unitFor } from '../../format/metrics';
import { fileSize, significant, simulatedTime } from '../../format/numbers';

/** Number of metrics shown at first. */
const SHOWN = 12;

const POINTS: Record<Metric['point'], string> = {
  endpoint: 'At the endpoints: post to completion',
  fabric: 'At the ports of the hosts',
  device: 'Counters of switches and adapters',
};

interface MetricRow {
  name: string;
  title: string;
  point: Metric['point'];
  isMain: boolean;
  values: (number | null)[];
}

const COUNTS = {
  rounds: 'Rounds',
  chunks: 'Chunks',
  chunks_complete: 'Chunks complete',
  chunks_failed: 'Chunks failed',
};

export function MetricTable({ jobs }: { jobs: JobDetail[] }) {
  const metrics = useMetrics();
  const [all, setAll] = useState(false);
  const rows = rowsOf(metrics, jobs);
  const first = mainRows(rows);
  const shown = all ? rows : rows.filter((row) => first.includes(row));
  const heads = jobs.map((job) => jobName(jobs, job));
  const groups = (Object.keys(POINTS) as Metric['point'][])
    .map((point) => ({ point, rows: shown.filter((row) => row.point === point) }))
    .filter((group) => group.rows.length > 0);
  return (
    <Paper withBorder p="sm">
      <Group justify="space-between" mb={6}>
        <Title order={2}>Metrics</Title>
        {rows.length > first.length ? (
          <Button variant="default" onClick={() => setAll(!all)}>
            {all ? `The main ${first.length}` : `All ${rows.length} metrics`}
          </Button>
        ) : null}
      </Group>
      <div className={jobs.length > 2 ? 'metric-groups wide' : 'metric-groups'}>
        {groups.map((group) => (
          <Scrolled key={group.point} label={POINTS[group.point]}>
            <DataTable
              label={POINTS[group.point]}
              columns={metricColumns(POINTS[group.point], heads)}
              rows={group.rows}
              rowKey={({ name }) => name}
            />
          </Scrolled>
        ))}
      </div>
    </Paper>
  );
}

/** Measured metrics of the jobs; of a single job also those of the fabric, which it has for itself. */
function rowsOf(metrics: readonly Metric[], jobs: JobDetail[]): MetricRow[] {
  const single = jobs.length === 1;
  const rows: MetricRow[] = [
    ...metrics.filter(({ scope }) => single || scope === 'job').map((metric) => rowOf(metric, jobs)),
    ...(Object.keys(COUNTS) as (keyof typeof COUNTS)[]).map((name): MetricRow => ({
      name,
      title: COUNTS[name],
      point: 'endpoint',
      isMain: false,
      values: jobs.map((job) => job[name]),
    })),
  ];
  return rows.filter(({ values }) => values.some((value) => value !== null));
}

function rowOf(metric: Metric, jobs: JobDetail[]): MetricRow {
  const values = jobs.map((job) =>
    metric.scope === 'run' ? fabricMetricOf(job, metric) : metricOf(job, metric),
  );
  const shown = unitFor(metric, values);
  return {
    name: metric.name,
    title: titleWithUnit(metric.title, shown.unit),
    point: metric.point,
    isMain: metric.views.includes('run') || metric.views.includes('shared'),
    values: values.map((value) => scaled(value, shown)),
  };
}

/** The main metrics, the first of the others where there are fewer. */
function mainRows(rows: MetricRow[]): MetricRow[] {
  const main = rows.filter(({ isMain }) => isMain);
  return [...main, ...rows.filter((row) => !main.includes(row))].slice(0, SHOWN);
}

function metricColumns(title: string, heads: readonly string[]): TableColumn<MetricRow>[] {
  return [
    { title, key: 'metric', isHeading: true, cell: (row) => <span title={row.name}>{row.title}</span> },
    ...heads.map((head, column): TableColumn<MetricRow> => ({
      title: heads.length === 1 ? 'Value' : head,
      key: `${head} ${column}`,
      right: true,
      cell: ({ values }) => <MetricValue value={values[column]} />,
    })),
  ];
}

/** Value in the unit that suits it: bytes and microseconds as larger units, counts without a unit. */
function withUnit(value: number | null, { unit }: Metric): string {
  if (unit === 'bytes') return fileSize(value);
  if (unit === 'us') return simulatedTime(value === null ? null : value * 1e6);
  const text = significant(value, 5);
  return unit === '' || unit === 'frames' ? text : `${text} ${unit}`;
}

/** Counters and metrics of the whole fabric, which no job has for itself where several share it. */
export function FabricMetrics({ job }: { job: JobDetail }) {
  const metrics = useMetrics();
  const facts = metrics
    .filter(({ scope }) => scope === 'run')
    .map((metric) => ({ metric, value: fabricMetricOf(job, metric) }))
    .filter(({ value }) => value !== null);
  if (facts.length === 0) return null;
  return (
    <Paper withBorder p="sm" component="section" aria-label="Whole fabric">
      <Title order={2} mb={6}>
        Whole fabric, all jobs together
      </Title>
      <dl className="facts fabric-facts">
        {facts.map(({ metric, value }) => (
          <div key={metric.name} style={{ display: 'contents' }}>
            <dt title={metric.name}>{metric.title}</dt>
            <dd className="num" title={`${value} ${metric.unit}`}>
              {withUnit(value, metric)}
            </dd>
          </div>
        ))}
      </dl>
    </Paper>
  );
}
