import { Badge, Checkbox, Group, Text } from '@mantine/core';
import { IconRuler2 } from '@tabler/icons-react';
import { Link } from 'react-router';

import type { Metric, Trial } from '../../api/types';
import type { GridColumn } from '../../components/Grid';
import { StatusBadge } from '../../components/StatusBadge';
import { caseText } from '../../format/axes';
import { metricOf, metricText } from '../../format/metrics';
import { dataSize, MISSING, moment, significant } from '../../format/numbers';

interface Selection {
  has: (id: string) => boolean;
  toggle: (id: string) => void;
}

function metricColumn(metric: Metric): GridColumn<Trial> {
  return {
    key: metric.name,
    title: `${metric.label.slice(0, 1).toUpperCase()}${metric.label.slice(1)}`,
    unit: metric.unit,
    hint: metric.title,
    width: 84,
    right: true,
    sortable: true,
    cell: ({ jobs: [job] }) => (job ? metricText(metricOf(job, metric), metric) : MISSING),
  };
}

/** Columns of the list of trials; figures are those of a trial's first job. */
export function trialColumns(selection: Selection, metrics: readonly Metric[]): GridColumn<Trial>[] {
  return [
    {
      key: 'select',
      title: '',
      width: 34,
      cell: (trial) => <Choice trial={trial} selection={selection} />,
    },
    {
      key: 'status',
      title: 'Status',
      width: 102,
      sortable: true,
      cell: (trial) => <StatusBadge status={trial.status} title={trial.message || undefined} />,
    },
    {
      key: 'plan',
      title: 'Plan',
      width: 'minmax(150px, 1.2fr)',
      sortable: true,
      cell: (trial) => <Name trial={trial} />,
    },
    { key: 'variant', title: 'Variant', width: 'minmax(90px, 0.9fr)', sortable: true, cell: variantText },
    {
      key: 'backend',
      title: 'Backend',
      hint: 'What made the trial: sim is the simulator, imported was measured elsewhere',
      width: 84,
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
    { key: 'collective', title: 'Collective', width: 'minmax(120px, 0.8fr)', cell: collectiveText },
    {
      key: 'ranks',
      title: 'Ranks',
      hint: 'Ranks of the job',
      width: 60,
      right: true,
      cell: ({ jobs: [job] }) => significant(job?.ranks),
    },
    ...metrics.filter(({ views }) => views.includes('trials-page')).map(metricColumn),
    {
      key: 'verdict',
      title: 'Criteria',
      width: 72,
      cell: (trial) => <Verdict verdict={trial.verdict} />,
    },
    {
      key: 'tags',
      title: 'Tags',
      width: 'minmax(90px, 1fr)',
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

function Choice({ trial, selection }: { trial: Trial; selection: Selection }) {
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

/** Tells what was imported from what was simulated. */
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

function collectiveText(trial: Trial) {
  const [job] = trial.jobs;
  if (job === undefined) return MISSING;
  const others = trial.jobs.length > 1 ? ` +${trial.jobs.length - 1} jobs` : '';
  const text = `${job.collective ?? MISSING}${job.algorithm ? `, ${job.algorithm}` : ''}${others}`;
  return <span title={text}>{text}</span>;
}

function Verdict({ verdict }: { verdict: string | null }) {
  if (verdict === null) return MISSING;
  return <Badge color={verdict === 'pass' ? 'teal' : 'red'}>{verdict}</Badge>;
}

function Tags({ tags }: { tags: string[] }) {
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
