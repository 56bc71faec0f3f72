/**
 * Geometry of the map of a fabric: a row for each tier with its boxes side by side, columns for pods or planes, lines
 * for the links between boxes, and texts that fit.
 */
import type { FabricMap, MapBox } from '../../../api/types';
import { counted } from '../../../format/numbers';
import { hostNumbers } from './hosts';

export const WIDTH = 640;
/** Width of the texts about each tier, at the left. */
export const GUTTER = 112;
const ROW = 82;
const TOP = 20;
const COLUMN_GAP = 14;
const CHARACTER = 5.9;
const MARK = 13;
const MARKS_MAX = 16;

export interface PlacedBox {
  index: number;
  box: MapBox;
  /** Centre. */
  x: number;
  y: number;
  width: number;
  height: number;
  /** Text in the box; empty where none fits. */
  text: string;
  /** Marks of single hosts with their positions; empty where the hosts are too many. */
  marks: { host: number; x: number }[];
}

export interface Line {
  key: string;
  x1: number;
  y1: number;
  x2: number;
  y2: number;
  rail: number | null;
  /** Links per line and their rates. */
  title: string;
}

export interface Frame {
  label: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Layout {
  height: number;
  boxes: PlacedBox[];
  lines: Line[];
  frames: Frame[];
  /** Texts about each tier, hosts first: its name with counts, and the capacity of its uplinks. */
  tiers: { y: number; name: string; count: string; uplinks: Uplinks | null }[];
}

export interface Uplinks {
  y: number;
  rate: string;
  ratio: string;
  isOversubscribed: boolean;
}

interface Span {
  left: number;
  right: number;
}

export function layoutOf(map: FabricMap, gutter: number): Layout {
  const levels = [...new Set(map.boxes.map(({ tier }) => tier))].sort((a, b) => a - b);
  const height = TOP + ROW * (levels.length - 1) + 58;
  const yOf = (tier: number) => height - 42 - ROW * levels.indexOf(tier);
  const columns = columnsOf(map, gutter);
  const boxes = levels.flatMap((tier) => rowOf(map, tier, columns, yOf(tier), gutter));
  boxes.sort((a, b) => a.index - b.index);
  return {
    height,
    boxes,
    lines: linesOf(map, boxes),
    frames: framesOf(boxes, columns),
    tiers: levels.map((tier) => tierText(map, tier, yOf(tier))),
  };
}

/** Number of the pod or plane by which a box is placed; null outside of both. */
function columnOf({ pods, plane }: MapBox): number | null {
  return pods?.[0] ?? plane ?? null;
}

/** Horizontal range of each pod or plane; as wide as its leaves are many. */
function columnsOf(map: FabricMap, gutter: number): Map<number, Span> {
  const leaves = map.boxes.filter(({ tier }) => tier === 1);
  const counts = new Map<number, number>();
  for (const box of leaves) {
    const column = columnOf(box);
    if (column !== null) counts.set(column, (counts.get(column) ?? 0) + 1);
  }
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const gap = counts.size > 12 ? 4 : COLUMN_GAP;
  const room = WIDTH - gutter - gap * counts.size;
  const spans = new Map<number, Span>();
  let left = gutter + gap / 2;
  for (const [column, count] of counts) {
    const right = left + (room * count) / total;
    spans.set(column, { left, right });
    left = right + gap;
  }
  return spans;
}

/** Range of a box: of its pods or plane, else of the whole row. */
function spanOf(box: MapBox, columns: Map<number, Span>, gutter: number): Span {
  const all = { left: gutter, right: WIDTH - 4 };
  const column = columnOf(box);
  if (column === null) return all;
  const first = columnAt(columns, column);
  const last = columnAt(columns, box.pods?.[1] ?? column);
  return first && last ? { left: first.left, right: last.right } : all;
}

/** The column of a pod, which may have several pods. */
function columnAt(columns: Map<number, Span>, number: number): Span | undefined {
  const start = [...columns.keys()].filter((first) => first <= number).at(-1);
  return start === undefined ? undefined : columns.get(start);
}

function rowOf(
  map: FabricMap,
  tier: number,
  columns: Map<number, Span>,
  y: number,
  gutter: number,
): PlacedBox[] {
  const members = map.boxes.map((box, index) => ({ box, index })).filter(({ box }) => box.tier === tier);
  const bySpan = new Map<string, { span: Span; members: typeof members }>();
  for (const member of members) {
    const span = spanOf(member.box, columns, gutter);
    const key = `${span.left} ${span.right}`;
    const group = bySpan.get(key) ?? { span, members: [] };
    group.members.push(member);
    bySpan.set(key, group);
  }
  return [...bySpan.values()].flatMap(({ span, members }) => {
    const slot = (span.right - span.left) / members.length;
    return members.map(({ box, index }, at) =>
      placed(map, box, index, span.left + slot * (at + 0.5), y, slot),
    );
  });
}

function placed(map: FabricMap, box: MapBox, index: number, x: number, y: number, slot: number): PlacedBox {
  const isHosts = box.tier === 0;
  const hosts = isHosts ? hostNumbers(box) : [];
  const single = hosts.length <= MARKS_MAX && hosts.length * MARK + 6 <= slot;
  const widest = isHosts && single ? hosts.length * MARK + 8 : isHosts ? 230 : 96;
  const width = Math.max(3, Math.min(slot - (slot > 20 ? 5 : 2), widest));
  const marks =
    isHosts && single ? hosts.map((host, at) => ({ host, x: x + (at - (hosts.length - 1) / 2) * MARK })) : [];
  const text = isHosts ? hostText(box, hosts.length, slot, map) : fitting(switchTexts(box, map), width - 4);
  return { index, box, x, y, width, height: isHosts ? 18 : 22, text, marks };
}

/** First text that fits; empty if none does. */
function fitting(texts: readonly string[], width: number): string {
  return texts.find((text) => text.length * CHARACTER <= width) ?? '';
}

function switchTexts({ switches, tier, label }: MapBox, map: FabricMap): string[] {
  if (switches.length === 1) return [label, label.replace('rail', 'r'), /\d+$/.exec(label)?.[0] ?? ''];
  const noun = map.tiers.find((each) => each.tier === tier)?.name ?? 'switches';
  const count = counted(switches.length);
  return [`${count} ${noun}`, `${count} ${noun === 'leaves' ? 'leaves' : ''}`.trim(), count];
}

function hostText({ servers, label }: MapBox, hosts: number, slot: number, { adapters }: FabricMap): string {
  if (servers === 1 && label.startsWith('server'))
    return fitting([label, label.replace('server', 's')], slot - 2);
  if (servers > 0) {
    const unit = servers === 1 ? 'server' : 'servers';
    return fitting(
      [`${counted(servers)} ${unit} x ${adapters}`, `${servers} x ${adapters}`, `${hosts}`],
      slot - 2,
    );
  }
  return fitting([hosts === 1 ? '1 host' : `${counted(hosts)} hosts`, counted(hosts)], slot - 2);
}

function linesOf(map: FabricMap, boxes: readonly PlacedBox[]): Line[] {
  return map.bundles.flatMap(({ lower, upper, links, rates_bps }): Line[] => {
    const [low, high] = [boxes[lower], boxes[upper]];
    if (low === undefined || high === undefined) return [];
    const key = `${lower} ${upper}`;
    const rail = high.box.rail ?? low.box.rail ?? null;
    const title = `${low.box.label} to ${high.box.label}: ${counted(links)} × ${rateText(rates_bps)}`;
    const end = { x2: high.x, y2: high.y + high.height / 2, rail, title };
    const y1 = low.y - low.height / 2;
    if (low.box.tier === high.box.tier) return [{ key, x1: low.x, y1, ...end, y2: high.y - high.height / 2 }];
    if (low.marks.length > 0) {
      const attached = new Set(hostNumbers(high.box));
      return low.marks
        .filter(({ host }) => attached.has(host))
        .map(({ host, x }) => ({ key: `${key} ${host}`, x1: x, y1, ...end }));
    }
    return [{ key, x1: railStart(low, rail, map), y1, ...end }];
  });
}

/** Start of the line of a rail: side by side along the servers. */
function railStart({ box, x, width }: PlacedBox, rail: number | null, { adapters }: FabricMap): number {
  if (box.tier > 0 || rail === null || adapters < 2) return x;
  return x + ((rail + 0.5) / adapters - 0.5) * width;
}

function framesOf(boxes: readonly PlacedBox[], columns: Map<number, Span>): Frame[] {
  return [...columns].map(([column, { left, right }]) => {
    const inside = boxes.filter(({ box }) => columnOf(box) === column);
    const ys = inside.map(({ y }) => y);
    const box = inside[0]?.box;
    const last = box?.pods?.[1] ?? column;
    const noun = box?.plane === column ? 'plane' : 'pod';
    const isHosts = inside.some(({ box }) => box.tier === 0);
    const y = Math.min(...ys) - 17;
    return {
      label: fitting(
        last === column
          ? [`${noun} ${column}`, `${column}`]
          : [`pods ${column} to ${last}`, `${column} to ${last}`, `${column}`],
        right - left,
      ),
      x: left - 2,
      y,
      width: right - left + 4,
      height: Math.max(...ys) + (isHosts ? 38 : 28) - y,
    };
  });
}

function tierText(map: FabricMap, tier: number, y: number) {
  if (tier === 0) {
    const servers = map.hosts / map.adapters;
    const [name, count] =
      map.adapters > 1
        ? [`${counted(servers)} servers`, `${map.adapters} adapters each`]
        : [`${counted(map.hosts)} hosts`, ''];
    return { y, name, count, uplinks: uplinksOf(map, 0, y) };
  }
  const own = map.tiers.find((each) => each.tier === tier);
  const name = own === undefined || own.switches === 1 ? 'switch' : `${counted(own.switches)} ${own.name}`;
  return { y, name, count: '', uplinks: uplinksOf(map, tier, y) };
}

function uplinksOf(map: FabricMap, tier: number, y: number): Uplinks | null {
  const up = map.bundles.filter(({ lower, upper }) => {
    const [low, high] = [map.boxes[lower], map.boxes[upper]];
    return low?.tier === tier && high !== undefined && high.tier > tier;
  });
  if (up.length === 0) return null;
  const { down_bps, up_bps } = map.tiers.find((each) => each.tier === tier) ?? { down_bps: 0, up_bps: 0 };
  return {
    y: y - ROW / 2,
    rate: rateText([...new Set(up.flatMap(({ rates_bps }) => rates_bps))]),
    ratio: up_bps > 0 ? ratioText(down_bps / up_bps) : '',
    isOversubscribed: down_bps > up_bps,
  };
}

/** Rates of links: `400 Gb/s`, or the least to the largest. */
export function rateText(rates: readonly number[]): string {
  const gbps = rates.map((rate) => rate / 1e9).sort((a, b) => a - b);
  const [first = 0, last = first] = [gbps[0], gbps.at(-1)];
  return first === last ? `${first} Gb/s` : `${first} to ${last} Gb/s`;
}

/** Oversubscription: `2:1`, `1:1`, and `1:4` for more capacity up than down. */
export function ratioText(ratio: number): string {
  const short = (value: number) => String(Number(value.toPrecision(3)));
  return ratio >= 1 ? `${short(ratio)}:1` : `1:${short(1 / ratio)}`;
}
