/**
 * View "Diagnosis" of a trial: causes of slow jobs; queue pairs, rates and ECN marks of each switch's uplinks; frames
 * lost; PFC frames per priority.
 */
import { Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';

import type { FabricInsight, JobDetail, PriorityPauses, TrialDetail, Uplinks } from '../../api/types';
import { FactList } from '../../components/FactList';
import { Empty } from '../../components/QueryStates';
import { DataTable, type TableColumn } from '../../components/table/DataTable';
import { fixed, MISSING, simulatedTime, whole } from '../../format/numbers';
import { FindingBox } from './FindingBox';
import { jobsOf } from './views';

export function DiagnosisView({ trial }: { trial: TrialDetail }) {
  const fabric = trial.shown?.fabric ?? null;
  // A job with several sizes has a result of each; its causes are those of the job.
  const names = new Set<string>();
  const slow = jobsOf(trial).filter(({ job, diagnosis }) => {
    const isFirst = !names.has(job);
    names.add(job);
    return isFirst && (diagnosis?.length ?? 0) > 0;
  });
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
          <Title order={2}>{[job.job, stateText(job)].filter(Boolean).join(': ')}</Title>
          {job.diagnosis?.map((finding, index) => (
            <FindingBox key={`${finding.cause} ${index}`} trial={trial.id} finding={finding} />
          ))}
        </Stack>
      ))}
      {fabric === null ? null : <FabricTables trial={trial.id} fabric={fabric} />}
    </Stack>
  );
}

/** Share of the ideal of a complete job, empty where it has none; the status of others. */
function stateText({ status, ideal_percent: ideal }: JobDetail): string {
  if (status !== 'complete') return status;
  return ideal === null ? '' : `${fixed(ideal, 1)} % of the ideal`;
}

function FabricTables({ trial, fabric }: { trial: string; fabric: FabricInsight }) {
  const { uplinks, frames_lost: lost, pfc_by_priority: pauses } = fabric;
  const counts = Object.entries(lost).map(([cause, frames]) => [cause, whole(frames)] as const);
  return (
    <div style={{ display: 'grid', gridTemplateColumns: 'minmax(0, 3fr) minmax(200px, 1fr)', gap: 12 }}>
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
        <FactList facts={counts} />
      </FabricBox>
      {uplinks.length === 0 ? null : (
        <FabricBox title="Rates of uplinks, frames marked with ECN" wide>
          <DataTable columns={RATE_COLUMNS} rows={uplinks} />
        </FabricBox>
      )}
      {pauses.length === 0 ? null : (
        <FabricBox title="PFC frames by priority" wide>
          <Text size="sm" mb={6}>
            {fabric.paused_ports.length === 1 ? '1 port was' : `${fabric.paused_ports.length} ports were`}{' '}
            paused.
          </Text>
          <DataTable columns={PAUSE_COLUMNS} rows={pauses.slice(0, MAX_PAUSE_ROWS)} />
          {pauses.length > MAX_PAUSE_ROWS ? (
            <Text size="xs" className="muted">
              <Link to={`/trials/${trial}/ports?table=priorities`}>
                and {pauses.length - MAX_PAUSE_ROWS} more
              </Link>
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
  { title: 'Queue pairs of each uplink', cell: ({ qps }) => queuePairsText(qps) },
  { title: 'Queue pairs, largest to mean', right: true, cell: (row) => fixed(row.qps_max_to_mean, 2) },
  { title: 'Bytes, largest to mean', right: true, cell: (row) => fixed(row.bytes_max_to_mean, 2) },
  {
    title: 'Link usage (%)',
    right: true,
    cell: (row) => joined(row.uplinks.map((link) => link.usage_percent ?? null)),
  },
  { title: 'Frames delta', right: true, cell: ({ frames_delta }) => whole(frames_delta) },
];

/** Rates of the uplinks in both directions, and frames marked at both ends and below. */
const RATE_COLUMNS: TableColumn<Uplinks>[] = [
  SWITCH,
  {
    title: 'Sent (Gb/s)',
    right: true,
    cell: ({ uplinks }) => joined(uplinks.map((link) => link.tx_gbps ?? null)),
  },
  {
    title: 'Received (Gb/s)',
    right: true,
    cell: ({ uplinks }) => joined(uplinks.map((link) => link.rx_gbps ?? null)),
  },
  {
    title: 'Marked at uplinks',
    right: true,
    cell: ({ uplinks }) => whole(sum(uplinks.map((link) => link.ecn_marked ?? null))),
  },
  {
    title: 'Marked above',
    right: true,
    cell: ({ uplinks }) => whole(sum(uplinks.map((link) => link.peer_ecn_marked ?? null))),
  },
  { title: 'Marked at other ports', right: true, cell: ({ ecn_marked_below }) => whole(ecn_marked_below) },
];

const MAX_PAUSE_ROWS = 10;

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

/** Queue pairs of each uplink, such as `42+50+52+48`; of many uplinks the least, the largest and their number. */
export function queuePairsText(qps: string | null | undefined): string {
  if (qps === null || qps === undefined) return MISSING;
  const counts = qps.split('+').map(Number);
  if (counts.length <= MAX_UPLINKS_LISTED) return qps;
  return `${Math.min(...counts)} to ${Math.max(...counts)} on ${counts.length} uplinks`;
}

/** Value of each uplink; of many uplinks the least and the largest. */
function joined(values: readonly (number | null)[]): string {
  const measured = values.filter((value) => value !== null);
  if (values.length > MAX_UPLINKS_LISTED && measured.length === values.length)
    return `${fixed(Math.min(...measured), 1)} to ${fixed(Math.max(...measured), 1)}`;
  return values.map((value) => fixed(value, 1)).join(' + ');
}
