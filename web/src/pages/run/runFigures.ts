/** Selects the figures of a run that its page shows. */
import type { FigureName, ResultsOfRun } from '../../api/types';

/** Figures of a run in the order of the page; the first of the curves that the run has, and all others. */
const CURVES = ['curves', 'bandwidth'];
const OTHERS = ['ratio', 'tenant-busbw', 'kept-share'];

export function figuresOfRun(
  { dimensions }: Pick<ResultsOfRun, 'dimensions'>,
  figures: readonly FigureName[],
): { curve: FigureName | undefined; others: FigureName[] } {
  const all = (names: readonly string[]) =>
    names.map((name) => figures.find((each) => each.name === name)).filter((each) => each !== undefined);
  if (dimensions.every((name) => name === 'job')) return { curve: all(['timeline'])[0], others: [] };
  // Of several jobs the figure of ratios has the first.
  const others = dimensions.includes('job') ? OTHERS.filter((name) => name !== 'ratio') : OTHERS;
  return { curve: all(CURVES)[0], others: all(others) };
}
