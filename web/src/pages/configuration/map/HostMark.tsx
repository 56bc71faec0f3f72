/**
 * SVG mark of a host on the map of a fabric: a circle in the colour of its job, or with an equal sector for each job.
 */
import { sectors } from './hosts';

interface Props {
  x: number;
  y: number;
  radius: number;
  /** Colour of each job with a rank on the host. */
  colours: readonly string[];
}

export function HostMark({ x, y, radius, colours }: Props) {
  const [only] = colours;
  if (colours.length < 2) return <circle cx={x} cy={y} r={radius} fill={only ?? 'var(--wire)'} />;
  return sectors(x, y, radius, colours.length).map((path, index) => (
    <path key={path} d={path} fill={colours[index]} />
  ));
}
