/**
 * Map of a large fabric: nested boxes of pods and switches that open on click, hosts coloured by job, and a search
 * for a host or switch.
 */
import { Group, Text, TextInput } from '@mantine/core';
import { useMemo, useState } from 'react';

import type { Topology } from '../../../api/types';
import { counted } from '../../../format/numbers';
import { type Box, boxesOf, findInBoxes, hostCount, hostNumbers } from './folding';
import { HostMark } from './HostMark';
import { jobsOfHost, ranksOfHost } from './topology';

interface Props {
  topology: Topology;
  colourOf: (job: number) => string;
}

export function FoldedMap({ topology, colourOf }: Props) {
  const boxes = useMemo(() => boxesOf(topology), [topology]);
  const jobs = useMemo(() => jobsOfHost(topology), [topology]);
  const ranks = useMemo(() => ranksOfHost(topology), [topology]);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [text, setText] = useState('');
  const match = text.trim() === '' ? null : findInBoxes(boxes, text);
  const search = (next: string) => {
    setText(next);
    const path = findInBoxes(boxes, next)?.path;
    if (path) setOpen(new Set([...open, ...path]));
  };
  const toggle = (name: string) => {
    const next = new Set(open);
    if (!next.delete(name)) next.add(name);
    setOpen(next);
  };
  const shown = {
    open,
    toggle,
    jobs,
    ranks,
    colourOf,
    marked: match?.path.at(-1),
    host: match?.host ?? null,
  };
  return (
    <div
      role="group"
      aria-label={`Map of the fabric: ${counted(topology.hosts)} hosts, ${counted(topology.switches.length)} switches`}
    >
      <Group gap="xs" mb={6}>
        <TextInput
          size="xs"
          w={210}
          aria-label="Find a host or a switch"
          placeholder="find: host17, 17, leaf3"
          value={text}
          onChange={(event) => search(event.currentTarget.value)}
        />
        <Text size="xs" className="muted" role="status">
          {text.trim() === ''
            ? `${counted(topology.hosts)} hosts, ${counted(topology.switches.length)} switches`
            : match
              ? match.path.join(', ')
              : 'no such host or switch'}
        </Text>
      </Group>
      <div className="folded-boxes">
        {boxes.map((box) => (
          <FoldedBox key={box.name} box={box} {...shown} />
        ))}
      </div>
    </div>
  );
}

interface BoxProps {
  box: Box;
  open: ReadonlySet<string>;
  toggle: (name: string) => void;
  jobs: Map<number, number[]>;
  ranks: Map<number, string[]>;
  colourOf: (job: number) => string;
  marked: string | undefined;
  host: number | null;
}

function FoldedBox({ box, ...shown }: BoxProps) {
  const isOpen = shown.open.has(box.name);
  const isMarked = box.name === shown.marked;
  const hosts = hostCount(box);
  const opens = box.children.length > 0 || hosts > 0;
  const counts = [
    ...(box.children.length > 0 ? [`${counted(box.switches)} switches`] : []),
    ...(hosts > 0 ? [`${counted(hosts)} hosts`] : []),
  ].join(', ');
  return (
    <div className="folded-box" data-open={isOpen && opens} data-marked={isMarked}>
      <button
        type="button"
        disabled={!opens}
        aria-expanded={opens ? isOpen : undefined}
        aria-current={isMarked || undefined}
        onClick={() => shown.toggle(box.name)}
      >
        {box.name}
        {counts ? <span className="muted"> {counts}</span> : null}
      </button>
      {isOpen && box.children.length > 0 ? (
        <div className="folded-boxes">
          {box.children.map((child) => (
            <FoldedBox key={child.name} box={child} {...shown} />
          ))}
        </div>
      ) : null}
      {isOpen && box.children.length === 0 ? <Hosts box={box} {...shown} /> : null}
    </div>
  );
}

const HOSTS_SHOWN = 256;
const PITCH = 34;
const COLUMNS = 16;

/** Hosts below a switch; of more than HOSTS_SHOWN, the page with the marked host. */
function Hosts({ box, jobs, ranks, colourOf, host }: BoxProps) {
  const all = hostNumbers(box);
  const index = host === null ? 0 : Math.max(0, all.indexOf(host));
  const start = all.length > HOSTS_SHOWN ? index - (index % HOSTS_SHOWN) : 0;
  const numbers = all.slice(start, start + HOSTS_SHOWN);
  const rows = Math.ceil(numbers.length / COLUMNS);
  const width = Math.min(COLUMNS, numbers.length) * PITCH;
  return (
    <>
      <svg
        width={width}
        height={rows * PITCH}
        viewBox={`0 0 ${width} ${rows * PITCH}`}
        style={{ display: 'block', maxWidth: '100%' }}
        role="img"
        aria-label={`Hosts of ${box.name}`}
      >
        {numbers.map((number, index) => {
          const x = ((index % COLUMNS) + 0.5) * PITCH;
          const y = Math.floor(index / COLUMNS) * PITCH + 11;
          return (
            <g key={number} data-host={number} data-marked={number === host}>
              <title>{`host${number}: ${(ranks.get(number) ?? ['no rank']).join(', ')}`}</title>
              {number === host ? (
                <circle cx={x} cy={y} r={10} fill="none" stroke="var(--worse)" strokeWidth="2.5" />
              ) : null}
              <HostMark x={x} y={y} radius={7} colours={(jobs.get(number) ?? []).map(colourOf)} />
              <text x={x} y={y + 19} textAnchor="middle" fontSize="9.5" fill="var(--muted)">
                {number}
              </text>
            </g>
          );
        })}
      </svg>
      {all.length > numbers.length ? (
        <Text size="xs" className="muted">
          {numbers.length} of {counted(all.length)} hosts; find another by its number.
        </Text>
      ) : null}
    </>
  );
}
