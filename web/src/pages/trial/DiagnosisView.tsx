/**
 * View "Diagnosis" of a trial: causes of slow jobs with symptoms, remedies and evidence; queue pairs, rates and ECN
 * marks of each switch's uplinks; frames lost; PFC frames per priority. RemedyLines lists the remedies of a cause.
 */
import { Code, Paper, Progress, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

import type { FabricInsight, Finding, PriorityPauses, Remedy, TrialDetail, Uplinks } from '../../api/types';
import { FactList } from '../../components/FactList';
import { Empty } from '../../components/QueryStates';
import { DataTable, type TableColumn } from '../../components/table/DataTable';
import { fixed, significant, simulatedTime, whole } from '../../format/numbers';
import { jobsOf } from './views';

export function DiagnosisView({ trial }: { trial: TrialDetail }) {
  const fabric = trial.shown?.fabric ?? null;
  // A job with several sizes has a result of each; its causes are those of the job.
  const firstResults = new Map(
    jobsOf(trial)
      .toReversed()
      .map((job) => [job.job, job]),
  );
  const slow = [...firstResults.values()]
    .toReversed()
    .filter(({ diagnosis }) => (diagnosis?.length ?? 0) > 0);
  return (
    <Stack gap="sm">
      {slow.length === 0 ? (
        <Empty title="No cause to name">
          Causes are named for jobs that reach less than 95 % of their ideal, are incomplete or stalled, where
          a counter shows one. The jobs of this trial are none of these, or no counter shows why.
        </Empty>
      ) : null}
      {slow.map((job) => (
        <Stack key={job.job} gap="xs">
          <Title order={2}>
            {job.job}: {fixed(job.ideal_percent as number | null, 1)} % of the ideal
          </Title>
          {job.diagnosis?.map((finding, index) => (
            <FindingBox key={`${finding.cause} ${index}`} finding={finding} />
          ))}
        </Stack>
      ))}
      {fabric === null ? null : <FabricTables fabric={fabric} />}
    </Stack>
  );
}

/** Greatest number of symptoms, or of other locations, listed under a cause. */
const MAX_UNDER = 5;

function FindingBox({ finding }: { finding: Finding }) {
  const percent = finding.explained === null ? null : finding.explained * 100;
  return (
    <Paper withBorder p="sm">
      <Title order={3} mb={2}>
        {causeTitle(finding.cause)}
      </Title>
      <Text size="sm">{finding.sentence}</Text>
      {finding.under.length > 0 ? (
        <ul className="under" style={{ margin: '4px 0', paddingLeft: 20 }}>
          {finding.under.slice(0, MAX_UNDER).map((each) => (
            <Text key={each.sentence} component="li" size="sm" className="muted">
              {each.cause === finding.cause ? '' : `${causeTitle(each.cause)}: `}
              {each.sentence}
            </Text>
          ))}
        </ul>
      ) : null}
      <RemedyLines remedies={finding.remedies} />
      {percent === null ? null : <ExplainedBar percent={percent} />}
      <div style={{ marginTop: 8 }}>
        <FactList facts={evidenceRows(finding)} />
      </div>
    </Paper>
  );
}

export function RemedyLines({ remedies }: { remedies: Remedy[] }) {
  return remedies.map(({ what: text, options }) => (
    <Text key={text} size="sm" mt={4}>
      Remedy: {text}
      {options ? (
        <>
          {': '}
          <Code>{options}</Code>
        </>
      ) : null}
    </Text>
  ));
}

function ExplainedBar({ percent }: { percent: number }) {
  const style = {
    display: 'grid',
    gridTemplateColumns: '220px 1fr',
    gap: 10,
    alignItems: 'center',
    marginTop: 6,
  };
  return (
    <div style={style}>
      <Progress value={percent} aria-label={`Explains ${percent.toFixed(0)} % of the lost time`} />
      <Text size="xs" className="muted">
        {explainedText(percent)}
      </Text>
    </div>
  );
}

function explainedText(percent: number): string {
  if (percent === 0) return 'explains nothing beyond the causes above';
  return `explains ${percent < 1 ? 'less than 1' : percent.toFixed(0)} % of the lost time`;
}

/** `hash-collision` is "Hash collision", `ecn-too-eager` "ECN too eager". */
function causeTitle(cause: string): string {
  const words = cause.replaceAll('-', ' ').replaceAll(/\b(ecn|pfc|nic)\b/g, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Evidence, a list or a mapping, as names and texts. */
function evidenceRows(finding: Finding): [string, string][] {
  const pairs = Array.isArray(finding.evidence)
    ? finding.evidence.map(({ name, value }) => [name, value] as const)
    : Object.entries(finding.evidence);
  return pairs.map(([name, value]) => [name.replace(/_ps$/, ''), evidenceText(name, value)]);
}

function evidenceText(name: string, value: unknown): string {
  if (typeof value === 'number') return name.endsWith('_ps') ? simulatedTime(value) : significant(value, 6);
  if (Array.isArray(value)) return value.map((each) => evidenceText(name, each)).join(', ');
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '–';
  return JSON.stringify(value);
}

function FabricTables({ fabric }: { fabric: FabricInsight }) {
  const { uplinks, frames_lost: lost, pfc_by_priority: pauses } = fabric;
  const counts = Object.entries(lost).map(([cause, frames]) => [cause, whole(frames)] as const);
  return (
    <div style={{ display: 'grid', gridTemplateColumns: '2fr 1fr', gap: 12 }}>
      <FabricBox title="Uplinks">
        {uplinks.length === 0 ? (
          <Text size="sm" className="muted">
            No switch has several uplinks.
          </Text>
        ) : (
          <DataTable columns={UPLINK_COLUMNS} rows={uplinks} />
        )}
      </FabricBox>
      <FabricBox title="Frames lost">
        <FactList facts={[...counts, ['ports paused', String(fabric.paused_ports.length)]]} />
      </FabricBox>
      {uplinks.length === 0 ? null : (
        <FabricBox title="Rates of uplinks, frames marked with ECN" wide>
          <DataTable columns={RATE_COLUMNS} rows={uplinks} />
        </FabricBox>
      )}
      {pauses.length === 0 ? null : (
        <FabricBox title="PFC frames by priority" wide>
          <DataTable columns={PAUSE_COLUMNS} rows={pauses.slice(0, MAX_PAUSE_ROWS)} />
          {pauses.length > MAX_PAUSE_ROWS ? (
            <Text size="xs" className="muted">
              {pauses.length - MAX_PAUSE_ROWS} more in the table `priorities` of the ports.
            </Text>
          ) : null}
        </FabricBox>
      )}
    </div>
  );
}

function FabricBox({
  title,
  wide = false,
  children,
}: {
  title: string;
  wide?: boolean;
  children: ReactNode;
}) {
  return (
    <Paper withBorder p="sm" style={wide ? { gridColumn: '1 / -1', overflowX: 'auto' } : undefined}>
      <Title order={2} mb={6}>
        {title}
      </Title>
      {children}
    </Paper>
  );
}

const SWITCH: TableColumn<Uplinks> = { title: 'Switch', cell: (row) => row.switch };

const UPLINK_COLUMNS: TableColumn<Uplinks>[] = [
  SWITCH,
  { title: 'Queue pairs of each uplink', cell: ({ qps }) => qps ?? '–' },
  { title: 'Queue pairs, largest to mean', right: true, cell: (row) => fixed(row.qps_max_to_mean, 2) },
  { title: 'Bytes, largest to mean', right: true, cell: (row) => fixed(row.bytes_max_to_mean, 2) },
  {
    title: 'Link usage (%)',
    right: true,
    cell: (row) => joined(row.uplinks.map((link) => link.usage_percent)),
  },
  { title: 'Frames delta', right: true, cell: ({ frames_delta }) => whole(frames_delta) },
];

/** Rates of the uplinks in both directions, and frames marked at both ends and below. */
const RATE_COLUMNS: TableColumn<Uplinks>[] = [
  SWITCH,
  { title: 'Sent (Gb/s)', right: true, cell: ({ uplinks }) => joined(uplinks.map((link) => link.tx_gbps)) },
  {
    title: 'Received (Gb/s)',
    right: true,
    cell: ({ uplinks }) => joined(uplinks.map((link) => link.rx_gbps)),
  },
  {
    title: 'Marked at uplinks',
    right: true,
    cell: ({ uplinks }) => whole(sum(uplinks.map((link) => link.ecn_marked))),
  },
  {
    title: 'Marked above',
    right: true,
    cell: ({ uplinks }) => whole(sum(uplinks.map((link) => link.peer_ecn_marked))),
  },
  { title: 'Marked at other ports', right: true, cell: ({ ecn_marked_below }) => whole(ecn_marked_below) },
];

const MAX_PAUSE_ROWS = 48;

const PAUSE_COLUMNS: TableColumn<PriorityPauses>[] = [
  { title: 'Port', cell: ({ node, port }) => `${node} port ${port}` },
  { title: 'Priority', right: true, cell: ({ priority }) => priority },
  { title: 'XOFF sent', right: true, cell: ({ pfc_tx }) => whole(pfc_tx) },
  { title: 'XON sent', right: true, cell: ({ pfc_xon_tx }) => whole(pfc_xon_tx) },
  { title: 'XOFF received', right: true, cell: ({ pfc_rx }) => whole(pfc_rx) },
  { title: 'XON received', right: true, cell: ({ pfc_xon_rx }) => whole(pfc_xon_rx) },
  { title: 'Paused', right: true, cell: ({ paused_ps }) => simulatedTime(paused_ps) },
];

/** Sum of counts; null if one was not measured. */
function sum(counts: readonly (number | null)[]): number | null {
  return counts.reduce<number | null>(
    (total, count) => (total === null || count === null ? null : total + count),
    0,
  );
}

const MAX_UPLINKS_LISTED = 8;

/** Value of each uplink; of many uplinks the least and the largest. */
function joined(values: readonly (number | null)[]): string {
  const measured = values.filter((value) => value !== null);
  if (values.length > MAX_UPLINKS_LISTED && measured.length === values.length)
    return `${fixed(Math.min(...measured), 1)} to ${fixed(Math.max(...measured), 1)}`;
  return values.map((value) => fixed(value, 1)).join(' + ');
}
