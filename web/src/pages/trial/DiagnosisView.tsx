import { Paper, Progress, Stack, Text, Title } from '@mantine/core';

import type { Finding, PriorityPauses, TrialDetail, Uplinks } from '../../api/types';
import { Empty } from '../../components/QueryStates';
import { fixed, significant, simulatedTime, whole } from '../../format/numbers';
import { RemedyLines } from './RemedyLines';
import { jobsOf } from './views';

/** Why each job is slow, what says so, and where queue pairs and frames went. */
export function DiagnosisView({ trial }: { trial: TrialDetail }) {
  // A job whose rounds have several sizes has a result for each; its causes are those of the job.
  const seen = new Set<string>();
  const found = jobsOf(trial).filter((job) => {
    const isFirst = !seen.has(job.job);
    seen.add(job.job);
    return isFirst && (job.diagnosis?.length ?? 0) > 0;
  });
  return (
    <Stack gap="sm">
      {found.length === 0 ? (
        <Empty title="No cause to name">
          Causes are named for jobs that reach less than 95 % of their ideal, are incomplete or stalled, where
          a counter shows one. The jobs of this trial are none of these, or no counter shows why.
        </Empty>
      ) : null}
      {found.map((job) => (
        <Stack key={job.job} gap="xs">
          <Title order={2}>
            {job.job}: {fixed(job.ideal_percent as number | null, 1)} % of the ideal
          </Title>
          {job.diagnosis?.map((finding, index) => (
            <FindingBox key={`${finding.cause} ${index}`} finding={finding} />
          ))}
        </Stack>
      ))}
      <Fabric trial={trial} />
    </Stack>
  );
}

function shareText(percent: number): string {
  if (percent === 0) return 'explains nothing beyond the causes above';
  return `explains ${percent < 1 ? 'less than 1' : percent.toFixed(0)} % of the lost time`;
}

/** So many symptoms, or other places, are told of a cause. */
const MAX_UNDER = 5;

function FindingBox({ finding }: { finding: Finding }) {
  const share = finding.explained === null ? null : finding.explained * 100;
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
      {share === null ? null : (
        <div
          style={{
            display: 'grid',
            gridTemplateColumns: '220px 1fr',
            gap: 10,
            alignItems: 'center',
            marginTop: 6,
          }}
        >
          <Progress value={share} aria-label={`Explains ${share.toFixed(0)} % of the lost time`} />
          <Text size="xs" className="muted">
            {shareText(share)}
          </Text>
        </div>
      )}
      <dl className="facts" style={{ marginTop: 8 }}>
        {evidenceRows(finding).map(([name, value]) => (
          <Fact key={name} name={name.replaceAll('_', ' ')} value={value} />
        ))}
      </dl>
    </Paper>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd className="num">{value}</dd>
    </>
  );
}

/** `hash-collision` is "Hash collision", `ecn-too-eager` "ECN too eager". */
function causeTitle(cause: string): string {
  const words = cause.replaceAll('-', ' ').replaceAll(/\b(ecn|pfc|nic)\b/g, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Evidence as names and texts, whether it came as a list or as a mapping. */
export function evidenceRows(finding: Finding): [string, string][] {
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

function Fabric({ trial }: { trial: TrialDetail }) {
  const fabric = trial.shown?.fabric;
  if (fabric === undefined || fabric === null) return null;
  const lost = Object.entries(fabric.frames_lost);
  return (
    <div style={{ display: 'grid', gridTemplateColumns: '2fr 1fr', gap: 12 }}>
      <Paper withBorder p="sm">
        <Title order={2} mb={6}>
          Uplinks
        </Title>
        {fabric.uplinks.length === 0 ? (
          <Text size="sm" className="muted">
            No switch has several uplinks.
          </Text>
        ) : (
          <table className="plain">
            <thead>
              <tr>
                <th>Switch</th>
                <th>Queue pairs of each uplink</th>
                <th className="right">Queue pairs, largest to mean</th>
                <th className="right">Bytes, largest to mean</th>
                <th className="right">Link usage (%)</th>
                <th className="right">Frames delta</th>
              </tr>
            </thead>
            <tbody>
              {fabric.uplinks.map((row) => (
                <tr key={row.switch}>
                  <td>{row.switch}</td>
                  <td>{row.qps ?? '–'}</td>
                  <td className="right">{fixed(row.qps_max_to_mean, 2)}</td>
                  <td className="right">{fixed(row.bytes_max_to_mean, 2)}</td>
                  <td className="right">{joined(row.uplinks.map((link) => link.usage_percent))}</td>
                  <td className="right">{counted(row.frames_delta)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Paper>
      <Paper withBorder p="sm">
        <Title order={2} mb={6}>
          Frames lost
        </Title>
        <dl className="facts">
          {lost.map(([cause, frames]) => (
            <Fact key={cause} name={cause} value={whole(frames)} />
          ))}
          <Fact name="ports paused" value={String(fabric.paused_ports.length)} />
        </dl>
      </Paper>
      <Rates rows={fabric.uplinks} />
      <Pauses rows={fabric.pfc_by_priority} />
    </div>
  );
}

/** A count; a dash where nobody counted. */
function counted(count: number | null): string {
  return count === null ? '–' : whole(count);
}

/** A sum of counts; none where one is missing. */
function sum(counts: readonly (number | null)[]): number | null {
  return counts.reduce<number | null>(
    (total, count) => (total === null || count === null ? null : total + count),
    0,
  );
}

const MAX_UPLINKS_LISTED = 8;

/** A value of each uplink; of many uplinks the least and the largest. */
function joined(values: readonly (number | null)[]): string {
  const known = values.filter((value) => value !== null);
  if (values.length > MAX_UPLINKS_LISTED && known.length === values.length)
    return `${fixed(Math.min(...known), 1)} to ${fixed(Math.max(...known), 1)}`;
  return values.map((value) => fixed(value, 1)).join(' + ');
}

/** Rates of the uplinks of each switch in both directions, and the frames marked at both ends and below. */
function Rates({ rows }: { rows: readonly Uplinks[] }) {
  if (rows.length === 0) return null;
  return (
    <Paper withBorder p="sm" style={{ gridColumn: '1 / -1', overflowX: 'auto' }}>
      <Title order={2} mb={6}>
        Rates of uplinks, frames marked with ECN
      </Title>
      <table className="plain">
        <thead>
          <tr>
            <th>Switch</th>
            <th className="right">Sent (Gb/s)</th>
            <th className="right">Received (Gb/s)</th>
            <th className="right">Marked at uplinks</th>
            <th className="right">Marked above</th>
            <th className="right">Marked at other ports</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.switch}>
              <td>{row.switch}</td>
              <td className="right">{joined(row.uplinks.map((link) => link.tx_gbps))}</td>
              <td className="right">{joined(row.uplinks.map((link) => link.rx_gbps))}</td>
              <td className="right">{counted(sum(row.uplinks.map((link) => link.ecn_marked)))}</td>
              <td className="right">{counted(sum(row.uplinks.map((link) => link.peer_ecn_marked)))}</td>
              <td className="right">{counted(row.ecn_marked_below)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Paper>
  );
}

const MAX_PAUSE_ROWS = 48;

/** PFC frames of each priority of the ports that have most of them. */
function Pauses({ rows }: { rows: readonly PriorityPauses[] }) {
  if (rows.length === 0) return null;
  return (
    <Paper withBorder p="sm" style={{ gridColumn: '1 / -1' }}>
      <Title order={2} mb={6}>
        PFC frames by priority
      </Title>
      <table className="plain">
        <thead>
          <tr>
            <th>Port</th>
            <th className="right">Priority</th>
            <th className="right">XOFF sent</th>
            <th className="right">XON sent</th>
            <th className="right">XOFF received</th>
            <th className="right">XON received</th>
            <th className="right">Paused</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MAX_PAUSE_ROWS).map((row) => (
            <tr key={`${row.node} ${row.port} ${row.priority}`}>
              <td>
                {row.node} port {row.port}
              </td>
              <td className="right">{row.priority}</td>
              {[row.pfc_tx, row.pfc_xon_tx, row.pfc_rx, row.pfc_xon_rx].map((count, index) => (
                <td key={index} className="right">
                  {count === null ? '–' : whole(count)}
                </td>
              ))}
              <td className="right">{simulatedTime(row.paused_ps)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > MAX_PAUSE_ROWS ? (
        <Text size="xs" className="muted">
          {rows.length - MAX_PAUSE_ROWS} more in the table `priorities` of the ports.
        </Text>
      ) : null}
    </Paper>
  );
}
