/** Colours of figures: ink, muted text, grid lines, categories; the Python package draws with the same file. */
import palette from '../../../python/fabricbench/figures/palette.json';

type Categories = [string, string, string, string, ...string[]];

export const { ink: INK, muted: MUTED, grid: GRID } = palette;
export const CATEGORIES = palette.categories as Categories;
