/**
 * Conversions of the time range that a page's figures show: between URL parameters [ps], the horizontal axis of a
 * figure, and a zoom by the user.
 */
import type { TimeRange } from '../../api/queries';
import type { Figure } from '../../api/types';

export function timeRangeOf(search: URLSearchParams): TimeRange | null {
  const from = Number(search.get('from') ?? Number.NaN);
  const to = Number(search.get('to') ?? Number.NaN);
  return Number.isFinite(from) && Number.isFinite(to) && from < to ? { from_ps: from, to_ps: to } : null;
}

/** Parameters of the URL for a time range; null removes them, for the whole run. */
export function searchOfRange(range: TimeRange | null): { from: string | null; to: string | null } {
  return { from: range && String(range.from_ps), to: range && String(range.to_ps) };
}

/** The figure with its horizontal axis at a time range. */
export function withTimeRange(figure: Figure, range: TimeRange | null): Figure {
  const factor = figure.unit_ps ?? null;
  if (factor === null) return figure;
  const axis = (figure.layout.xaxis ?? {}) as Record<string, unknown>;
  const xaxis =
    range === null
      ? axis
      : { ...axis, autorange: false, range: [range.from_ps / factor, range.to_ps / factor] };
  return { ...figure, layout: { ...figure.layout, xaxis } };
}

/** Time range of a zoom along the axis of a figure; null for the whole run. */
export function zoomedTime(axis: [number, number] | null, figure: Figure): TimeRange | null {
  const factor = figure.unit_ps ?? null;
  if (axis === null || factor === null) return null;
  const end = figure.end_ps ?? Number.POSITIVE_INFINITY;
  const from = Math.max(0, Math.round(Math.min(...axis) * factor));
  const to = Math.min(end, Math.round(Math.max(...axis) * factor));
  return to > from && (from > 0 || to < end) ? { from_ps: from, to_ps: to } : null;
}
