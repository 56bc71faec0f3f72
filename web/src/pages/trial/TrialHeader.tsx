/**
 * Header of a trial's page: path from its run, verdict, tags, id and backend; menu of the run's other trials; buttons to
 * compare, tag and download.
 */
import { Badge, Button, Group, Menu, Select, Text, Title } from '@mantine/core';
import { IconArrowsDiff, IconChevronDown, IconDownload, IconTag } from '@tabler/icons-react';
import { useState } from 'react';
import { Link, useNavigate } from 'react-router';

import { path, query } from '../../api/client';
import type { Sibling, TrialDetail } from '../../api/types';
import { StatusBadge } from '../../components/StatusBadge';
import { TagDialog } from '../../components/TagDialog';
import { casePrefix, caseText } from '../../format/sweep';
import { jobName } from '../../format/jobs';
import { dataSize, moment } from '../../format/numbers';
import { hasTables, isPrinted, jobsOf } from './views';

export function TrialHeader({ trial, view }: { trial: TrialDetail; view: string }) {
  const [tagging, setTagging] = useState(false);
  return (
    <Group justify="space-between" align="flex-start" wrap="nowrap">
      <div style={{ minWidth: 0 }}>
        <Group gap="xs">
          <Title order={1}>
            <Link to={`/runs/${trial.suite}`}>{trial.plan}</Link>
            {[caseText(trial), dataSize(trial.data_size_bytes)]
              .filter((part) => part !== '')
              .map((part) => ` › ${part}`)}
          </Title>
          <Verdicts trial={trial} />
          {isPrinted(trial) ? <Badge color="grape">measured</Badge> : null}
          {trial.tags.map((tag) => (
            <Badge key={tag} color="gray">
              {tag}
            </Badge>
          ))}
        </Group>
        <Text size="sm" className="muted">
          trial <span className="mono">{trial.id}</span> · {trial.title === '' ? '' : `${trial.title} · `}
          {trial.backend} {trial.backend_version}
          {trial.iteration > 0 ? ` · iteration ${trial.iteration}` : ''} · {moment(trial.started_at)}
        </Text>
      </div>
      <Group gap="xs" wrap="nowrap">
        <SiblingChoice trial={trial} view={view} />
        <Button
          component={Link}
          variant="default"
          to={`/compare${query({ trial: [trial.id, ...others(trial)] })}`}
          leftSection={<IconArrowsDiff size={14} />}
        >
          Compare
        </Button>
        <Button variant="default" leftSection={<IconTag size={14} />} onClick={() => setTagging(true)}>
          Tags
        </Button>
        <Downloads trial={trial} />
      </Group>
      {tagging ? <TagDialog ids={[trial.id]} present={trial.tags} onClose={() => setTagging(false)} /> : null}
    </Group>
  );
}

/** State of the trial; of several jobs those that failed, by name. */
function Verdicts({ trial }: { trial: TrialDetail }) {
  const jobs = jobsOf(trial);
  const failed = jobs.filter(({ status, verdict }) => status !== 'complete' || verdict === 'fail');
  if (jobs.length < 2 || failed.length === 0)
    return <StatusBadge status={trial.status} verdict={trial.verdict} />;
  const more = failed.length - FAILED_MAX;
  return (
    <>
      {failed.slice(0, FAILED_MAX).map((job) => (
        <Badge key={`${job.job} ${job.data_size_bytes}`} color={job.status === 'complete' ? 'red' : 'orange'}>
          {jobName(jobs, job)}: {job.status === 'complete' ? 'not met' : job.status}
        </Badge>
      ))}
      {more > 0 ? <Badge color="red">and {more} more</Badge> : null}
    </>
  );
}

/** Greatest number of failed jobs named in the header. */
const FAILED_MAX = 3;

/** Trials that "Compare" selects: other variants and swept values of the run at the same size and iteration. */
function others(trial: TrialDetail): string[] {
  return trial.suite_trials
    .filter((other) => other.id !== trial.id && other.status === 'complete')
    .filter((other) => other.data_size_bytes === trial.data_size_bytes && other.iteration === trial.iteration)
    .map((other) => other.id)
    .slice(0, 5);
}

function SiblingChoice({ trial, view }: { trial: TrialDetail; view: string }) {
  const navigate = useNavigate();
  if (trial.suite_trials.length < 2) return null;
  return (
    <Select
      aria-label="Trial of the run"
      w={190}
      data={trial.suite_trials.map((other) => ({ value: other.id, label: siblingLabel(other) }))}
      value={trial.id}
      allowDeselect={false}
      searchable
      onChange={(id) => id !== null && void navigate(`/trials/${id}/${view}`)}
    />
  );
}

function siblingLabel(other: Sibling) {
  const iteration = other.iteration > 0 ? `, #${other.iteration}` : '';
  return `${casePrefix(other)}${dataSize(other.data_size_bytes)}${iteration}`;
}

/** Downloads that this trial does not offer: they need a plan, an output, chunks or captured frames. */
function hiddenFiles(trial: TrialDetail): string[] {
  return [
    isPrinted(trial) ? 'plan.yaml' : 'output.txt',
    ...(hasTables(trial, ['chunks']) ? [] : ['chunks.csv', 'chunks.parquet', 'timeline.json']),
    ...(hasTables(trial, ['links']) ? [] : ['capture.pcapng']),
  ];
}

const DOWNLOADS: Record<string, string> = {
  'report.html': 'Report (HTML, opens offline)',
  'notebook.ipynb': 'Jupyter notebook',
  'plan.yaml': 'Plan (YAML)',
  'output.txt': 'Output of the benchmark (text)',
  'summary.csv': 'Summary (CSV)',
  'summary.json': 'Summary (JSON)',
  'chunks.csv': 'Data chunks (CSV)',
  'chunks.parquet': 'Data chunks (Parquet)',
  'timeline.json': 'Timeline (trace for Perfetto)',
  'capture.pcapng': 'First frames (pcapng)',
};

function Downloads({ trial }: { trial: TrialDetail }) {
  const hidden = hiddenFiles(trial);
  const offered = Object.fromEntries(Object.entries(DOWNLOADS).filter(([name]) => !hidden.includes(name)));
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <Button leftSection={<IconDownload size={14} />} rightSection={<IconChevronDown size={13} />}>
          Download
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {Object.entries(offered).map(([name, title]) => (
          <Menu.Item key={name} component="a" href={path('trials', trial.id, 'downloads', name)} download>
            {title}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
