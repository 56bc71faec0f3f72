/** The stretch of simulated time that all figures over time show: in picoseconds in the address, in the figure's unit on its axis. */
import type { Figure, Stretch } from '../../api/types';

export function stretchOf(search: URLSearchParams): Stretch | null {
  const from = Number(search.get('from') ?? Number.NaN);
  const to = Number(search.get('to') ?? Number.NaN);
  return Number.isFinite(from) && Number.isFinite(to) && from < to ? { from_ps: from, to_ps: to } : null;
}

/** The address of a stretch; that of the whole run has none. */
export function addressOf(stretch: Stretch | null): { from: string | null; to: string | null } {
  return { from: stretch && String(stretch.from_ps), to: stretch && String(stretch.to_ps) };
}

/** The figure with its horizontal axis at a stretch. */
export function withRange(figure: Figure, stretch: Stretch | null): Figure {
  const factor = figure.unit_ps ?? null;
  if (factor === null) return figure;
  const axis = (figure.layout.xaxis ?? {}) as Record<string, unknown>;
  const range =
    stretch === null
      ? axis
      : { ...axis, autorange: false, range: [stretch.from_ps / factor, stretch.to_ps / factor] };
  return { ...figure, layout: { ...figure.layout, xaxis: range } };
}

/** The stretch that a zoom chose; null for the whole run. */
export function zoomed(range: [number, number] | null, figure: Figure): Stretch | null {
  const factor = figure.unit_ps ?? null;
  if (range === null || factor === null) return null;
  const end = figure.end_ps ?? Number.POSITIVE_INFINITY;
  const from = Math.max(0, Math.round(Math.min(...range) * factor));
  const to = Math.min(end, Math.round(Math.max(...range) * factor));
  return to > from && (from > 0 || to < end) ? { from_ps: from, to_ps: to } : null;
}
