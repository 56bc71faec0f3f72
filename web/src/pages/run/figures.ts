import type { Figure, Sample } from '../../api/types';

const UNITS = [
  [1e9, 'ms'],
  [1e6, 'us'],
  [1e3, 'ns'],
] as const;

/** A line over simulated time, in the look of the report's figures. */
export function liveFigure(
  samples: Sample[],
  value: 'goodput_gbps' | 'queue_bytes_max',
  title: string,
  colour: string,
  divisor: number,
): Figure {
  const end = samples.at(-1)?.at_ps ?? 0;
  const [ps, unit] = UNITS.find(([size]) => end >= size) ?? [1, 'ps'];
  const y = samples.map((sample) => {
    const raw = sample[value];
    return raw === null || raw === undefined ? null : raw / divisor;
  });
  return {
    data: [
      {
        type: 'scatter',
        mode: 'lines',
        x: samples.map((sample) => sample.at_ps / ps),
        y,
        line: { color: colour, width: 1.5 },
        hovertemplate: `%{y:.4g} at %{x:.4g} ${unit}<extra></extra>`,
      },
    ],
    layout: {
      height: 230,
      autosize: true,
      margin: { l: 56, r: 12, t: 10, b: 42 },
      font: { family: 'system-ui, sans-serif', size: 12, color: '#1c2733' },
      paper_bgcolor: 'white',
      plot_bgcolor: 'white',
      uirevision: 'live',
      xaxis: {
        title: { text: `simulated time (${unit})` },
        gridcolor: '#e4e8ed',
        rangemode: 'tozero',
        zeroline: false,
      },
      yaxis: { title: { text: title }, gridcolor: '#e4e8ed', rangemode: 'tozero', zeroline: false },
    },
  };
}
