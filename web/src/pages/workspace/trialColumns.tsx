/**
 * Columns of the list of trials (selection, status, plan, variant, backend, size, collective, metrics, criteria,
 * tags, start), and cells that the list of runs uses too.
 */
import { Badge, Checkbox, Group, Text } from '@mantine/core';
import { IconRuler2 } from '@tabler/icons-react';
import { Link } from 'react-router';

import type { JobMetrics, Metric, Trial } from '../../api/types';
import type { GridColumn } from '../../components/table/Grid';
import { StatusBadge } from '../../components/StatusBadge';
import { shownJob, worstText } from '../../format/jobs';
import { caseText } from '../../format/sweep';
import { metricOf, metricText, worstBy } from '../../format/metrics';
import { dataSize, MISSING, moment, significant } from '../../format/numbers';

interface Selection {
  has: (id: string) => boolean;
  toggle: (id: string) => void;
}

/** Job whose values a row shows: the worst by the metric that sorts the list, or the one that represents the trial. */
function jobOf(trial: Trial, sortedBy: Metric | undefined): JobMetrics | undefined {
  return sortedBy === undefined ? shownJob(trial, trial.jobs) : worstBy(trial.jobs, sortedBy);
}

function metricColumn(metric: Metric, sortedBy: Metric | undefined): GridColumn<Trial> {
  return {
    key: metric.name,
    title: `${metric.label.slice(0, 1).toUpperCase()}${metric.label.slice(1)}`,
    unit: metric.unit,
    hint: metric.title,
    width: 80,
    right: true,
    sortable: true,
    cell: (trial) => <MetricText trial={trial} metric={metric} sortedBy={sortedBy} />,
  };
}

interface MetricTextProps {
  trial: Trial;
  metric: Metric;
  sortedBy: Metric | undefined;
}

/** Value of a metric; its tooltip names the job if there are several. */
function MetricText({ trial, metric, sortedBy }: MetricTextProps) {
  const job = jobOf(trial, sortedBy);
  if (job === undefined) return MISSING;
  const text = metricText(metricOf(job, metric), metric);
  if (trial.jobs.length === 1) return text;
  return <span title={`${metric.title} of job ${job.job}, one of ${trial.jobs.length}`}>{text}</span>;
}

/** All metrics of a row belong to one job, which the row names. */
export function trialColumns(
  selection: Selection,
  metrics: readonly Metric[],
  sortKey?: string,
): GridColumn<Trial>[] {
  const sortedBy = metrics.find(({ name }) => name === sortKey);
  return [
    {
      key: 'select',
      title: '',
      width: 34,
      cell: (trial) => <SelectBox trial={trial} selection={selection} />,
    },
    { key: 'status', title: 'Status', width: 92, sortable: true, cell: statusBadge },
    {
      key: 'plan',
      title: 'Plan',
      width: 'minmax(136px, 1.2fr)',
      sortable: true,
      cell: (trial) => <Name trial={trial} />,
    },
    { key: 'variant', title: 'Variant', width: 'minmax(152px, 1.2fr)', sortable: true, cell: variantText },
    {
      key: 'backend',
      title: 'Backend',
      hint: 'Source of the trial: sim is the simulator, imported was measured elsewhere',
      width: 80,
      sortable: true,
      cell: (trial) => <span title={`Results ${trial.backend_version}`}>{trial.backend}</span>,
    },
    {
      key: 'data_size_bytes',
      title: 'Data size',
      hint: '1 KB = 1,024 bytes, as in nccl-tests',
      width: 84,
      right: true,
      sortable: true,
      cell: (trial) => dataSize(trial.data_size_bytes),
    },
    {
      key: 'collective',
      title: 'Collective',
      hint: 'With several jobs, the named job, whose metrics the row shows',
      width: 'minmax(120px, 1fr)',
      cell: (trial) => collectiveText(trial, jobOf(trial, sortedBy)),
    },
    {
      key: 'ranks',
      title: 'Ranks',
      hint: 'Ranks of all jobs together',
      width: 62,
      right: true,
      cell: ({ ranks }) => significant(ranks),
    },
    ...metrics
      .filter(({ views }) => views.includes('trials-page'))
      .map((metric) => metricColumn(metric, sortedBy)),
    {
      key: 'worst',
      title: 'Retained',
      hint: 'The job that loses most to the others: percentage of its bus bandwidth alone',
      width: 'minmax(80px, 0.6fr)',
      cell: (trial) => <Worst trial={trial} />,
    },
    {
      key: 'verdict',
      title: 'Criteria',
      width: 70,
      cell: (trial) => <Verdict verdict={trial.verdict} />,
    },
    {
      key: 'tags',
      title: 'Tags',
      width: 'minmax(48px, 0.6fr)',
      cell: (trial) => <Tags tags={trial.tags} />,
    },
    {
      key: 'started_at',
      title: 'Started',
      width: 132,
      sortable: true,
      cell: (trial) => moment(trial.started_at, false),
    },
  ];
}

export function statusBadge({ status, verdict, message }: Trial) {
  return <StatusBadge status={status} verdict={verdict} title={message || undefined} />;
}

export function SelectBox({ trial, selection }: { trial: Trial; selection: Selection }) {
  return (
    <Checkbox
      aria-label={`Select ${trial.plan}, ${dataSize(trial.data_size_bytes)}, ${trial.id}`}
      checked={selection.has(trial.id)}
      onChange={() => selection.toggle(trial.id)}
      onClick={(event) => event.stopPropagation()}
    />
  );
}

function Name({ trial }: { trial: Trial }) {
  return (
    <>
      {trial.backend === 'imported' ? <MeasuredMark /> : null}
      <Link to={`/trials/${trial.id}`} title={`Trial ${trial.id}`} className="row-link">
        {trial.plan}
      </Link>
    </>
  );
}

/** Marks imported trials. */
function MeasuredMark() {
  const label = 'Measured on a real fabric';
  return (
    <span title={label} style={{ marginRight: 5, verticalAlign: -2 }}>
      <IconRuler2 size={13} stroke={1.8} className="muted" role="img" aria-label={label} />
    </span>
  );
}

function variantText(trial: Trial) {
  const iteration = trial.iteration > 0 ? ` #${trial.iteration}` : '';
  const text = `${caseText(trial) || 'base'}${iteration}`;
  return text === 'base' ? (
    <Text span size="sm" className="muted">
      base
    </Text>
  ) : (
    <span title={text}>{text}</span>
  );
}

function collectiveText({ jobs }: Trial, job: JobMetrics | undefined) {
  if (job === undefined) return MISSING;
  const name = `${job.collective}${job.algorithm ? `, ${job.algorithm}` : ''}`;
  if (jobs.length === 1) return <span title={name}>{name}</span>;
  const all = jobs.map((each) => `${each.job}: ${each.collective}`).join('; ');
  return <span title={all}>{`${job.job} (1 of ${jobs.length}): ${name}`}</span>;
}

function Worst({ trial }: { trial: Trial }) {
  const text = worstText(trial);
  return text ? <span title={`Percentage of its bus bandwidth alone: ${text}`}>{text}</span> : MISSING;
}

export function Verdict({ verdict }: { verdict: string | null }) {
  if (verdict === null) return MISSING;
  return <Badge color={verdict === 'pass' ? 'teal' : 'red'}>{verdict}</Badge>;
}

export function Tags({ tags }: { tags: readonly string[] }) {
  return (
    <Group gap={4} wrap="nowrap">
      {tags.map((tag) => (
        <Badge key={tag} color="gray">
          {tag}
        </Badge>
      ))}
    </Group>
  );
}
