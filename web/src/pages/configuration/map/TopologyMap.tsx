/**
 * Map of the plan's fabric: SVG drawing of hosts, switches and links, hosts coloured by job, with a legend of the
 * jobs; uses FoldedMap for large fabrics.
 */
import { Group, Text } from '@mantine/core';
import { useMemo } from 'react';

import type { Topology } from '../../../api/types';
import { CATEGORIES } from '../../../app/palette';
import { counted } from '../../../format/numbers';
import { FoldedMap } from './FoldedMap';
import { HostMark } from './HostMark';
import { jobsOfHost, pictureOf, ranksOfHost } from './topology';

/** Colours of jobs, without the last, a grey too close to that of switches. */
const COLOURS = CATEGORIES.slice(0, -1);

const JOBS_NAMED = 16;

export function TopologyMap({ topology }: { topology: Topology | null }) {
  if (topology === null) {
    return (
      <Text size="sm" className="muted" p="md">
        The fabric is drawn here once the plan has one.
      </Text>
    );
  }
  if (topology.nodes.length === 0 && topology.switches.length === 0) {
    return (
      <Text size="sm" className="muted" p="md">
        {counted(topology.hosts)} hosts: too many to draw.
      </Text>
    );
  }
  return (
    <div style={{ padding: '6px 10px' }}>
      {topology.switches.length > 0 ? (
        <FoldedMap topology={topology} colourOf={colourOf} />
      ) : (
        <Picture topology={topology} />
      )}
      <Group gap="md">
        {topology.jobs.slice(0, JOBS_NAMED).map((job, index) => (
          <Text key={job.name} size="xs">
            <svg width="10" height="10" aria-hidden style={{ marginRight: 5 }}>
              <rect width="10" height="10" rx="2" fill={colourOf(index)} />
            </svg>
            {job.name}, {job.hosts.length} ranks
          </Text>
        ))}
        {topology.jobs.length > JOBS_NAMED ? (
          <Text size="xs" className="muted">
            and {topology.jobs.length - JOBS_NAMED} more
          </Text>
        ) : null}
      </Group>
    </div>
  );
}

function Picture({ topology }: { topology: Topology }) {
  const picture = useMemo(() => pictureOf(topology), [topology]);
  const jobs = useMemo(() => jobsOfHost(topology), [topology]);
  const ranks = useMemo(() => ranksOfHost(topology), [topology]);
  const crowded = picture.nodes.length > 90;
  const hosts = topology.nodes.filter((node) => node.kind === 'host').length;
  return (
    <svg
      viewBox={`0 0 ${picture.width} ${picture.height}`}
      style={{ width: '100%', maxHeight: 260, display: 'block' }}
      role="img"
      aria-label={`Map of the fabric: ${hosts} hosts, ${topology.nodes.length - hosts} switches`}
    >
      {picture.lines.map(({ key, from, to, count, rate_bps }) => (
        <line
          key={key}
          x1={from.x}
          y1={from.y}
          x2={to.x}
          y2={to.y}
          stroke="var(--wire)"
          strokeWidth={Math.min(4, 0.8 + 0.5 * count)}
          opacity={crowded ? 0.45 : 0.9}
        >
          <title>{`${from.name} to ${to.name}: ${count > 1 ? `${count} links of ` : ''}${rate_bps / 1e9} Gb/s`}</title>
        </line>
      ))}
      {picture.nodes.map((node, index) => {
        const colours = (jobs.get(index) ?? []).map(colourOf);
        const isHost = node.tier === 0;
        const about = isHost ? (ranks.get(index) ?? ['no rank']).join(', ') : 'switch';
        const size = crowded ? 3 : isHost ? 7 : 9;
        return (
          <g key={node.name}>
            <title>{`${node.name}: ${about}`}</title>
            {isHost ? (
              <HostMark x={node.x} y={node.y} radius={size} colours={colours} />
            ) : (
              <rect
                x={node.x - size * 1.6}
                y={node.y - size * 0.8}
                width={size * 3.2}
                height={size * 1.6}
                rx="2"
                fill="var(--switch)"
              />
            )}
            {picture.nodes.length <= 48 ? (
              <text
                x={node.x}
                y={isHost ? node.y + 19 : node.y - 12}
                textAnchor="middle"
                fontSize="9.5"
                fill="var(--muted)"
                stroke="var(--panel)"
                strokeWidth="3"
                paintOrder="stroke"
              >
                {isHost ? node.name.replace('host', '') : node.name}
              </text>
            ) : null}
          </g>
        );
      })}
    </svg>
  );
}

function colourOf(job: number): string {
  return COLOURS[job % COLOURS.length] ?? CATEGORIES[0];
}
