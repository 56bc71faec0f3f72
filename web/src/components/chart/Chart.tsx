/**
 * Draws a figure of the server with Plotly, with loading state and errors, and reports zooms along the horizontal
 * axis; CaptionedChart adds the caption.
 */
import { Skeleton, Text } from '@mantine/core';
import type { Layout, ModeBarDefaultButtons, PlotlyHTMLElement, PlotRelayoutEvent } from 'plotly.js';
import { useEffect, useRef, useState } from 'react';

import type { Figure } from '../../api/types';
import { Failure } from '../QueryStates';
import { loadedPlotly, loadPlotly } from './plotly';

/** Range of the horizontal axis in its unit; null for the whole axis. */
export type AxisRange = [number, number] | null;

interface Props {
  figure: Figure;
  label: string;
  /** Called when the user zooms along the horizontal axis. */
  onZoom?: ((range: AxisRange) => void) | undefined;
}

const BUTTONS_LEFT_OUT: ModeBarDefaultButtons[] = [
  'lasso2d',
  'select2d',
  'zoomIn2d',
  'zoomOut2d',
  'autoScale2d',
];

// Pages with charts load the library while they request their data; a failure is shown where it is used.
void loadPlotly().catch(() => undefined);

const CONFIG = {
  responsive: true,
  displaylogo: false,
  // Without these two Plotly shows a button that sends the data of a plot to its maker's server.
  showSendToCloud: false,
  plotlyServerURL: '',
  modeBarButtonsToRemove: BUTTONS_LEFT_OUT,
};

export function CaptionedChart({ figure, ...rest }: Props) {
  return (
    <>
      <Chart figure={figure} {...rest} />
      {figure.caption ? (
        <Text size="sm" className="muted" mt={6} maw={1100}>
          {figure.caption}
        </Text>
      ) : null}
    </>
  );
}

export function Chart({ figure, label, onZoom }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const zoom = useRef(onZoom);
  const latest = useRef(figure);
  const [error, setError] = useState<unknown>(null);
  const [drawn, setDrawn] = useState(false);
  useEffect(() => {
    zoom.current = onZoom;
    latest.current = figure;
  });
  useEffect(() => {
    let current = true;
    const element = container.current;
    if (element === null) return;
    const linked = zoom.current && { zoom: (range: AxisRange) => zoom.current?.(range), latest };
    draw(element, figure, linked).then(
      () => current && setDrawn(true),
      (reason: unknown) => current && setError(reason),
    );
    return () => {
      current = false;
    };
  }, [figure]);
  useEffect(() => {
    const element = container.current;
    return () => {
      if (element !== null) loadedPlotly()?.purge(element);
    };
  }, []);
  const height = typeof figure.layout.height === 'number' ? figure.layout.height : 360;
  if (error !== null) return <Failure error={error} name="The figure" />;
  return (
    <div style={{ position: 'relative', minHeight: height }} role="figure" aria-label={label}>
      {drawn ? null : <Skeleton height={height} style={{ position: 'absolute', inset: 0 }} />}
      <div ref={container} className="figure" data-drawn={drawn} style={{ minHeight: height }} />
    </div>
  );
}

/** Listener of a chart whose horizontal axis several charts share, and the figure drawn last. */
interface Linked {
  zoom: (range: AxisRange) => void;
  latest: { current: Figure };
}

async function draw(element: HTMLDivElement, figure: Figure, linked: Linked | undefined) {
  const plotly = await loadPlotly();
  const first = !element.classList.contains('js-plotly-plot');
  // Plotly's own double click restores the axis that it drew first, which may be a part of the run.
  const config = linked ? { ...CONFIG, doubleClick: false as const } : CONFIG;
  // Plotly writes into the layout that it is given.
  await plotly.react(element, figure.data, structuredClone(figure.layout) as Partial<Layout>, config);
  if (!first || !linked) return;
  const plot = element as unknown as PlotlyHTMLElement;
  plot.on('plotly_relayout', (event) => {
    const range = zoomedRange(event);
    if (range !== undefined) linked.zoom(range);
  });
  plot.on('plotly_doubleclick', () => {
    linked.zoom(null);
    void draw(element, linked.latest.current, linked);
  });
}

/** Horizontal range of a zoom event; undefined if the horizontal axis did not change. */
export function zoomedRange(event: PlotRelayoutEvent): AxisRange | undefined {
  const whole = (event as { 'xaxis.range'?: [number, number] })['xaxis.range'];
  if (whole !== undefined) return whole;
  const from = event['xaxis.range[0]'];
  const to = event['xaxis.range[1]'];
  if (from !== undefined && to !== undefined) return [from, to];
  return event['xaxis.autorange'] ? null : undefined;
}
