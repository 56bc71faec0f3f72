import { sectors } from './topology';

interface Props {
  x: number;
  y: number;
  radius: number;
  /** One for each job that has a rank here. */
  colours: readonly string[];
}

/** A host in the colour of its job; of several jobs each has an equal part of it. */
export function HostMark({ x, y, radius, colours }: Props) {
  const [only] = colours;
  if (colours.length < 2) return <circle cx={x} cy={y} r={radius} fill={only ?? 'var(--wire)'} />;
  return sectors(x, y, radius, colours.length).map((path, index) => (
    <path key={path} d={path} fill={colours[index]} />
  ));
}
