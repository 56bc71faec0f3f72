/** Which columns of a wide table are in sight: the others are not drawn. */
import { type RefObject, useEffect, useState } from 'react';

export interface ColumnWindow {
  /** Index of the first column that is drawn, and of the first after the last one. */
  from: number;
  to: number;
}

/** Drawn beyond the edges [px], so that a column is there before it comes into sight. */
const BEYOND = 160;

/** The columns that lie between two places; all if a width is not a number of pixels. */
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

/** The columns in sight of a table in a box that scrolls. */
export function useColumnWindow(
  box: RefObject<HTMLElement | null>,
  widths: readonly (number | string)[],
): ColumnWindow {
  const [shown, setShown] = useState<ColumnWindow>({ from: 0, to: widths.length });
  const key = widths.join('|');
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const look = () => {
      const [left, width] = [element.scrollLeft, element.clientWidth];
      const next = columnsBetween(numbersOf(key), left - BEYOND, left + width + BEYOND);
      setShown((before) => (before.from === next.from && before.to === next.to ? before : next));
    };
    look();
    const resized = new ResizeObserver(look);
    resized.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    return () => {
      resized.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, [box, key]);
  return shown;
}

function numbersOf(key: string): (number | string)[] {
  return key.split('|').map((text) => (/^[\d.]+$/.test(text) ? Number(text) : text));
}
