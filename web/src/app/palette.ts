/** Colours of figures; written by tools/generate_web_types.py from fabricbench.figures.theme. */
export const INK = "#1c2733" as const;
export const MUTED = "#5b6877" as const;
export const GRID = "#e4e8ed" as const;
export const CATEGORIES = ["#0072B2", "#D55E00", "#009E73", "#b8629a", "#b27a00", "#2f8fc9", "#7a5195", "#4d4d4d"] as const;
