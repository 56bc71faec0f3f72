/**
 * Colours of figures for the web pages: ink, muted text, grid lines, one per category; read from the JSON file whose
 * colours the Python package uses too.
 */
import palette from '../../../python/fabricbench/figures/palette.json';

type Categories = [string, string, string, string, ...string[]];

export const { ink: INK, muted: MUTED, grid: GRID } = palette;
export const CATEGORIES = palette.categories as Categories;
