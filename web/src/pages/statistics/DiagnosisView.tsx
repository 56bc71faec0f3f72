import { Paper, Progress, Stack, Text, Title } from '@mantine/core';

import type { Finding, TrialDetail } from '../../api/types';
import { Empty } from '../../components/States';
import { fixed, significant, simulatedTime, whole } from '../../format/numbers';
import { RemedyLines } from './RemedyLines';
import { jobsOf } from './views';

/** Why each job is slow, what says so, and where queue pairs and frames went. */
export function DiagnosisView({ trial }: { trial: TrialDetail }) {
  const found = jobsOf(trial).filter((job) => (job.diagnosis?.length ?? 0) > 0);
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
              </tr>
            </thead>
            <tbody>
              {fabric.uplinks.map((row) => (
                <tr key={row.switch}>
                  <td>{row.switch}</td>
                  <td>{row.qps ?? '–'}</td>
                  <td className="right">{fixed(row.qps_max_to_mean, 2)}</td>
                  <td className="right">{fixed(row.bytes_max_to_mean, 2)}</td>
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
    </div>
  );
}
