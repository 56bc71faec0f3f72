/**
 * A likely cause of a slow job: sentence, fraction of the lost time, locations with links to their ports, figures in
 * suitable units, consequences, and remedies that open a run.
 */
import { Code, Paper, Text } from '@mantine/core';
import type { ReactNode } from 'react';

import type { Finding } from '../../api/types';
import { CauseText } from '../../components/CauseBox';
import { Names } from '../../components/Names';
import { Remedies } from '../../components/Remedies';
import { causeTitle } from '../../format/causes';
import { sentence } from '../../format/jobs';
import { counted, fileSize, significant, simulatedTime } from '../../format/numbers';
import { locationAddress } from './locations';

/** Greatest number of numbers listed one by one. */
const MAX_LISTED = 8;

/** Greatest number of consequences, or of other locations, listed under a cause. */
const MAX_UNDER = 5;

export function FindingBox({ trial, finding }: { trial: string; finding: Finding }) {
  const facts = factsOf(finding);
  const linkOf = (name: string) => locationAddress(trial, name);
  const { under, where, remedies } = finding;
  const options = remedies.filter((remedy) => remedy.options !== '');
  return (
    <Paper withBorder p="sm">
      <CauseText finding={finding} />
      {where.length > 0 ? (
        <Text size="sm" mt={4} component="div">
          At: <Names label="Locations" names={where} linkOf={linkOf} />
        </Text>
      ) : null}
      {under.length > 0 ? (
        <ul className="under" style={{ margin: '4px 0', paddingLeft: 20 }}>
          {under.slice(0, MAX_UNDER).map((each) => (
            <Text key={each.sentence} component="li" size="sm" className="muted">
              {each.cause === finding.cause ? '' : `${causeTitle(each.cause)}: `}
              {sentence(each.sentence)}
            </Text>
          ))}
          {under.length > MAX_UNDER ? (
            <Text component="li" size="sm" className="muted">
              and {under.length - MAX_UNDER} more
            </Text>
          ) : null}
        </ul>
      ) : null}
      <Remedies trial={trial} remedies={remedies} />
      {options.length > 0 ? (
        <Text size="xs" className="muted" mt={4}>
          On the command line:{' '}
          {options
            .map((remedy) => remedy.options)
            .map((text, index) => (
              <span key={text}>
                {index === 0 ? '' : ' or '}
                <Code>{text}</Code>
              </span>
            ))}
        </Text>
      ) : null}
      <dl className="facts fabric-facts" style={{ marginTop: 8 }}>
        {facts.map(([name, value]) => (
          <div key={name} style={{ display: 'contents' }}>
            <dt>{name}</dt>
            <dd className="num">{value}</dd>
          </div>
        ))}
      </dl>
    </Paper>
  );
}

/** Figures of a cause as names and texts; empty ones are left out. */
function factsOf(finding: Finding): [string, ReactNode][] {
  // The advice is among the remedies.
  return Object.entries(finding.evidence)
    .filter(([name]) => name !== 'advice')
    .flatMap(([name, value]) => factsOfValue(name, value));
}

function factsOfValue(name: string, value: unknown): [string, ReactNode][] {
  const title = titleOf(name);
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) {
    if (value.length === 0) return [];
    const texts = value.map((each) => valueText(name, each));
    if (!value.every((each) => typeof each === 'number')) return [[title, namesOf(title, texts)]];
    const isLong = value.length > MAX_LISTED;
    return [
      [
        title,
        isLong ? `${Math.min(...value)} to ${Math.max(...value)}, ${value.length} in all` : texts.join(' + '),
      ],
    ];
  }
  if (typeof value === 'object') {
    const texts = Object.entries(value).map(([part, each]) => `${part}: ${valueText(name, each)}`);
    return texts.length === 0 ? [] : [[title, namesOf(title, texts)]];
  }
  return [[title, valueText(name, value)]];
}

function namesOf(title: string, texts: readonly string[]): ReactNode {
  return <Names label={title} names={texts} />;
}

/** Units at the end of names of figures, each with its format. */
const UNITS: [RegExp, (value: number) => string][] = [
  [/_ps$|^paused$/, simulatedTime],
  [/(_|^)bytes$/, fileSize],
  [/_bps$/, (value) => `${significant(value / 1e9, 4)} Gb/s`],
  [/_percent$/, (value) => `${significant(value, 3)} %`],
  [/_(use|share)$|^(bound_elsewhere|data_across_rails|kept)$/, (value) => `${significant(100 * value, 3)} %`],
];

/** Abbreviations of the field in names of figures. */
const WORDS: Record<string, string> = {
  qps: 'queue pairs',
  cnp: 'CNPs',
  ecn: 'ECN',
  pfc: 'PFC',
  rx: 'received',
  tx: 'sent',
  nic: 'NIC',
  mtu: 'MTU',
  naks: 'NAKs',
};

function titleOf(name: string): string {
  const words = name
    .replace(/_(ps|bps|percent)$/, '')
    .split('_')
    .map((word) => WORDS[word] ?? word)
    .join(' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function valueText(name: string, value: unknown): string {
  if (typeof value === 'number') {
    const format = UNITS.find(([pattern]) => pattern.test(name))?.[1];
    return format === undefined
      ? Number.isInteger(value)
        ? counted(value)
        : significant(value, 4)
      : format(value);
  }
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.map((each) => valueText(name, each)).join(' ');
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value)
      .map(([part, each]) => `${titleOf(part)} ${valueText(part, each)}`)
      .join(', ');
  }
  return String(value);
}
