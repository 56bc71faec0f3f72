/**
 * SVG drawing of a fabric: frames of pods or planes, links, boxes of switches and hosts, and at the left what each
 * tier has, with the oversubscription of its uplinks. Without `selection` it is a small picture without texts.
 */
import { type KeyboardEvent, useMemo } from 'react';

import type { FabricMap } from '../../../api/types';
import { counted } from '../../../format/numbers';
import { colourOf } from './colours';
import { HostsBox } from './HostsBox';
import { jobsOfHost } from './hosts';
import { GUTTER, type Layout, layoutOf, type PlacedBox, WIDTH } from './layout';

/** Which box is open or found, and what a click does. */
export interface Selection {
  box: number | null;
  host: number | null;
  select: (box: number) => void;
}

interface Props {
  map: FabricMap;
  selection?: Selection;
}

export function FabricPicture({ map, selection }: Props) {
  const isLarge = selection !== undefined;
  const layout = useMemo(() => layoutOf(map, isLarge ? GUTTER : 0), [map, isLarge]);
  const jobs = useMemo(() => jobsOfHost(map), [map]);
  const hosts = `${counted(map.hosts)} ${map.adapters > 1 ? 'adapters' : 'hosts'}`;
  const label = `Map of the fabric: ${hosts}, ${counted(map.switches)} ${map.switches === 1 ? 'switch' : 'switches'}`;
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${layout.height}`}
      className="fabric-picture"
      role={isLarge ? 'group' : 'img'}
      aria-label={label}
    >
      {layout.frames.map(({ label, ...frame }) => (
        <rect key={label} {...frame} rx="5" fill="var(--page)" stroke="var(--line)" />
      ))}
      <Lines layout={layout} />
      {isLarge ? <Texts layout={layout} /> : null}
      {layout.boxes.map((placed) => (
        <BoxButton key={placed.index} placed={placed} selection={selection}>
          {placed.box.tier === 0 ? (
            <HostsBox placed={placed} jobs={jobs} host={selection?.host ?? null} hasText={isLarge} />
          ) : (
            <SwitchBox placed={placed} hasText={isLarge} />
          )}
        </BoxButton>
      ))}
    </svg>
  );
}

function Lines({ layout }: { layout: Layout }) {
  const crowded = layout.lines.length > 80;
  return layout.lines.map(({ key, x1, y1, x2, y2, rail, title }) => (
    <path
      key={key}
      d={y1 === y2 ? `M${x1} ${y1}Q${(x1 + x2) / 2} ${y1 - 30} ${x2} ${y2}` : `M${x1} ${y1}L${x2} ${y2}`}
      fill="none"
      stroke={rail === null ? 'var(--wire)' : colourOf(rail)}
      strokeWidth="1.2"
      opacity={crowded ? 0.5 : 0.85}
    >
      <title>{title}</title>
    </path>
  ));
}

function Texts({ layout: { frames, tiers } }: { layout: Layout }) {
  return (
    <>
      {frames.map((frame) => (
        <text
          key={frame.label}
          x={frame.x + frame.width / 2}
          y={frame.y + frame.height - 5}
          textAnchor="middle"
          fontSize="10"
          fontWeight="600"
          fill="var(--muted)"
          stroke="var(--page)"
          strokeWidth="3"
          paintOrder="stroke"
        >
          {frame.label}
        </text>
      ))}
      {tiers.map((tier) => (
        <TierText key={tier.y} {...tier} />
      ))}
    </>
  );
}

function TierText({ y, name, count, uplinks }: Layout['tiers'][number]) {
  return (
    <g fontSize="11">
      <text x="0" y={y + (count === '' ? 4 : -2)} fontWeight="600" fill="var(--mantine-color-text)">
        {name}
      </text>
      <text x="0" y={y + 11} fontSize="10" fill="var(--muted)">
        {count}
      </text>
      {uplinks === null ? null : (
        <text x="0" y={uplinks.y + 4} fontSize="10" fill="var(--muted)">
          {uplinks.rate}
          {uplinks.ratio === '' ? null : (
            <tspan
              x="0"
              dy="13"
              fontWeight="600"
              fill={uplinks.isOversubscribed ? 'var(--worse)' : 'var(--muted)'}
            >
              {uplinks.ratio}
              {uplinks.isOversubscribed ? ' oversubscribed' : ''}
            </tspan>
          )}
        </text>
      )}
    </g>
  );
}

function SwitchBox({ placed, hasText }: { placed: PlacedBox; hasText: boolean }) {
  const { x, y, width, height, text, box } = placed;
  const colour = box.rail === null ? 'var(--switch)' : colourOf(box.rail);
  return (
    <>
      <Stack placed={placed} colour={colour} />
      <rect
        x={x - width / 2}
        y={y - height / 2}
        width={width}
        height={height}
        rx="3"
        fill={hasText ? 'var(--panel)' : colour}
        stroke={colour}
        strokeWidth="1.6"
      />
      {hasText ? (
        <text x={x} y={y + 3.5} textAnchor="middle" fontSize="10" fill="var(--mantine-color-text)">
          {text}
        </text>
      ) : null}
    </>
  );
}

/** Edge of further boxes behind one that stands for several switches. */
function Stack({ placed: { x, y, width, height, box }, colour }: { placed: PlacedBox; colour: string }) {
  if (box.switches.length < 2 || width < 12) return null;
  return (
    <rect
      x={x - width / 2 + 3}
      y={y - height / 2 - 3}
      width={width}
      height={height}
      rx="3"
      fill="var(--panel)"
      stroke={colour}
      opacity="0.7"
    />
  );
}

interface ButtonProps {
  placed: PlacedBox;
  selection: Selection | undefined;
  children: React.ReactNode;
}

function BoxButton({ placed: { index, box, text }, selection, children }: ButtonProps) {
  if (selection === undefined) return <g>{children}</g>;
  const name = text === '' || text === box.label ? box.label : `${box.label}, ${text}`;
  const press = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    selection.select(index);
  };
  return (
    <g
      role="button"
      tabIndex={0}
      className="fabric-box"
      aria-label={name}
      aria-pressed={selection.box === index}
      onClick={() => selection.select(index)}
      onKeyDown={press}
    >
      <title>{name}</title>
      {children}
    </g>
  );
}
