/**
 * Computes the range of columns of a wide table that are visible, from column widths and scroll position; Grid
 * renders no others.
 */
import { type RefObject, useEffect, useState } from 'react';

export interface ColumnWindow {
  /** Index of the first rendered column, and of the first after the last one. */
  from: number;
  to: number;
}

/** Width rendered beyond each edge [px], so that columns are ready before they become visible. */
const MARGIN = 160;

/** Columns that overlap a range of pixels; all columns if a width is not a number of pixels. */
export function columnsBetween(
  widths: readonly (number | string)[],
  left: number,
  right: number,
): ColumnWindow {
  const all = { from: 0, to: widths.length };
  let [from, to, edge] = [0, 0, 0];
  for (const [index, width] of widths.entries()) {
    if (typeof width !== 'number') return all;
    if (edge + width < left) from = index + 1;
    if (edge <= right) to = index + 1;
    edge += width;
  }
  return from < to ? { from, to } : all;
}

/** Visible columns of a table in a scrolling box. */
export function useColumnWindow(
  box: RefObject<HTMLElement | null>,
  widths: readonly (number | string)[],
): ColumnWindow {
  const [shown, setShown] = useState<ColumnWindow>({ from: 0, to: widths.length });
  const key = widths.join('|');
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const update = () => {
      const [left, width] = [element.scrollLeft, element.clientWidth];
      const next = columnsBetween(numbersOf(key), left - MARGIN, left + width + MARGIN);
      setShown((before) => (before.from === next.from && before.to === next.to ? before : next));
    };
    update();
    const resized = new ResizeObserver(update);
    resized.observe(element);
    element.addEventListener('scroll', update, { passive: true });
    return () => {
      resized.disconnect();
      element.removeEventListener('scroll', update);
    };
  }, [box, key]);
  return shown;
}

function numbersOf(key: string): (number | string)[] {
  return key.split('|').map((text) => (/^[\d.]+$/.test(text) ? Number(text) : text));
}
