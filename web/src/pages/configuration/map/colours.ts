/** Colours of jobs and rails on the map of a fabric; distinct for the first sixteen. */
import { CATEGORIES } from '../../../app/palette';

/** Those of figures without the last, a grey too close to that of switches, then further hues. */
const COLOURS = [
  ...CATEGORIES.slice(0, -1),
  '#a3123a',
  '#5f8a00',
  '#00868b',
  '#8f4a17',
  '#5157c9',
  '#d2467f',
  '#3d7a52',
  '#a06be0',
  '#8a7f2c',
] as const;

export function colourOf(index: number): string {
  return COLOURS[index % COLOURS.length] ?? CATEGORIES[0];
}
