/** Search for a host or a switch on the map of a fabric. */
import type { FabricMap } from '../../../api/types';

/** Result of a search: index of the box with the host or switch, the number of a host, and its position in words. */
export interface Match {
  box: number;
  host: number | null;
  text: string;
}

/** Finds a host by its number or name (`17`, `host17`), or a switch by its name. */
export function findOnMap(map: FabricMap, text: string): Match | null {
  const name = text.trim().toLowerCase();
  const digits = /^(?:host\s*)?(\d+)$/.exec(name)?.[1];
  if (digits !== undefined) return findHost(map, Number(digits));
  const box = map.boxes.findIndex(({ switches }) => switches.some((each) => each.toLowerCase() === name));
  const found = map.boxes[box];
  return found === undefined ? null : { box, host: null, text: positionText(found, name) };
}

function findHost(map: FabricMap, host: number): Match | null {
  const has = (tier: number) =>
    map.boxes.findIndex(
      (box) =>
        box.tier === tier && box.hosts.some(([first = 0, last = first]) => first <= host && host <= last),
    );
  const box = has(0);
  const above = map.boxes[has(1)];
  if (box < 0 || above === undefined) return null;
  const server = map.adapters > 1 ? `server${Math.floor(host / map.adapters)}, ` : '';
  return { box, host, text: server + positionText(above, above.label) };
}

function positionText(
  { pods, rail, plane, label, switches }: FabricMap['boxes'][number],
  name: string,
): string {
  const parts = [
    pods ? (pods[0] === pods[1] ? `pod ${pods[0]}` : `pods ${pods[0]} to ${pods[1]}`) : '',
    rail === null ? '' : `rail ${rail}`,
    plane === null ? '' : `plane ${plane}`,
    switches.length > 1 && name !== label ? `${name}, one of ${label}` : name,
  ];
  return parts.filter((part) => part !== '').join(', ');
}
