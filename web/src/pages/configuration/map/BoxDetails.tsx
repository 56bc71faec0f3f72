/** What a box of the map stands for: its switches with their links, and its hosts coloured by job. */
import { Text } from '@mantine/core';
import { useMemo } from 'react';

import type { FabricMap } from '../../../api/types';
import { counted } from '../../../format/numbers';
import { colourOf } from './colours';
import { HostMark } from './HostMark';
import { hostNumbers, jobsOfHost, ranksOfHost } from './hosts';
import { rateText } from './layout';

interface Props {
  map: FabricMap;
  index: number;
  host: number | null;
}

export function BoxDetails({ map, index, host }: Props) {
  const box = map.boxes[index];
  if (box === undefined) return null;
  const links = map.bundles
    .filter(({ lower, upper }) => lower === index || upper === index)
    .map(({ lower, upper, links, rates_bps }) => ({
      to: map.boxes[lower === index ? upper : lower]?.label ?? '',
      text: `${counted(links)} × ${rateText(rates_bps)}`,
    }));
  const isSwitches = box.switches.length > 0;
  return (
    <section aria-label={box.label} className="fabric-details" tabIndex={0}>
      <Text size="xs" fw={600}>
        {box.label}
        {box.switches.length > 1 ? `: ${counted(box.switches.length)} switches` : ''}
      </Text>
      {isSwitches ? (
        <Text size="xs" className="muted">
          Links:{' '}
          {links
            .slice(0, LINKS_SHOWN)
            .map(({ to, text }) => `${to} (${text})`)
            .join(', ')}
          {links.length > LINKS_SHOWN ? ` and ${links.length - LINKS_SHOWN} more` : ''}
        </Text>
      ) : null}
      <Hosts map={map} numbers={hostNumbers(box)} name={box.label} host={host} />
    </section>
  );
}

const LINKS_SHOWN = 8;
const HOSTS_SHOWN = 256;
const PITCH = 34;
const COLUMNS = 20;

interface HostsProps {
  map: FabricMap;
  numbers: number[];
  name: string;
  host: number | null;
}

/** Hosts below a switch; of more than HOSTS_SHOWN, the page with the marked host. */
function Hosts({ map, numbers: all, name, host }: HostsProps) {
  const jobs = useMemo(() => jobsOfHost(map), [map]);
  const ranks = useMemo(() => ranksOfHost(map), [map]);
  if (all.length === 0) return null;
  const index = host === null ? 0 : Math.max(0, all.indexOf(host));
  const start = all.length > HOSTS_SHOWN ? index - (index % HOSTS_SHOWN) : 0;
  const numbers = all.slice(start, start + HOSTS_SHOWN);
  const width = Math.min(COLUMNS, numbers.length) * PITCH;
  const height = Math.ceil(numbers.length / COLUMNS) * PITCH;
  return (
    <>
      <svg
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        style={{ display: 'block', maxWidth: '100%', height: 'auto' }}
        role="img"
        aria-label={`Hosts of ${name}`}
      >
        {numbers.map((number, index) => {
          const x = ((index % COLUMNS) + 0.5) * PITCH;
          const y = Math.floor(index / COLUMNS) * PITCH + 11;
          return (
            <g
              key={number}
              data-host={number}
              data-marked={number === host}
              ref={(node) => {
                if (number === host) node?.scrollIntoView({ block: 'nearest' });
              }}
            >
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
