/** Builds the Plotly figure of one live time series of a trial, in the style of the report's figures. */
import type { Point } from '../../api/events';
import type { Figure } from '../../api/types';
import { GRID, INK, MUTED } from '../../app/palette';

const UNITS = [
  [1e9, 'ms'],
  [1e6, 'us'],
  [1e3, 'ns'],
] as const;

const BYTE_UNITS = [
  [1e9, 'GB'],
  [1e6, 'MB'],
  [1e3, 'kB'],
] as const;

const TITLE = { size: 12.5, color: MUTED };

interface Axes {
  title: string;
  time: string;
  /** Whether values are bytes. */
  isBytes: boolean;
}

/** Values in bytes are shown in the largest unit below the greatest value. */
export function liveFigure(points: Point[], { title, time, isBytes }: Axes, colour: string): Figure {
  const most = Math.max(0, ...points.map(([, value]) => value));
  const [divisor, bytes] = (isBytes ? BYTE_UNITS.find(([size]) => most >= size) : undefined) ?? [1, 'bytes'];
  const end = points.at(-1)?.[0] ?? 0;
  const [ps, unit] = UNITS.find(([size]) => end >= size) ?? [1, 'ps'];
  return {
    data: [
      {
        type: 'scatter',
        mode: 'lines',
        x: points.map(([at]) => at / ps),
        y: points.map(([, value]) => value / divisor),
        line: { color: colour, width: 1.5 },
        hovertemplate: `%{y:.4g} at %{x:.4g} ${unit}<extra></extra>`,
      },
    ],
    layout: {
      height: 230,
      autosize: true,
      margin: { l: 56, r: 12, t: 10, b: 42 },
      font: { family: 'system-ui, sans-serif', size: 12, color: INK },
      paper_bgcolor: 'white',
      plot_bgcolor: 'white',
      uirevision: 'live',
      xaxis: {
        title: { text: `${time} (${unit})`, font: TITLE },
        gridcolor: GRID,
        rangemode: 'tozero',
        zeroline: false,
      },
      yaxis: {
        title: { text: isBytes ? `${title} (${bytes})` : title, font: TITLE },
        gridcolor: GRID,
        rangemode: 'tozero',
        zeroline: false,
      },
    },
  };
}
