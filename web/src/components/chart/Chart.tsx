/** A Plotly figure of the server, or one made here, at the width of its place. */
import { Skeleton } from '@mantine/core';
import type { ModeBarDefaultButtons, PlotlyHTMLElement, PlotRelayoutEvent } from 'plotly.js';
import { useEffect, useRef, useState } from 'react';

import type { Figure } from '../../api/types';
import { loadedPlotly, loadPlotly } from './plotly';
import { Failure } from '../QueryStates';

interface Props {
  figure: Figure;
  label: string;
  /** Called with the ends of the horizontal axis when the reader zooms, with null when they go back to all of it. */
  onZoom?: (range: [number, number] | null) => void;
}

const BUTTONS_LEFT_OUT: ModeBarDefaultButtons[] = [
  'lasso2d',
  'select2d',
  'zoomIn2d',
  'zoomOut2d',
  'autoScale2d',
];

const CONFIG = {
  responsive: true,
  displaylogo: false,
  // Without these two Plotly shows a button that sends the data of a plot to its maker's server.
  showSendToCloud: false,
  plotlyServerURL: '',
  modeBarButtonsToRemove: BUTTONS_LEFT_OUT,
};

export function Chart({ figure, label, onZoom }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const zoom = useRef(onZoom);
  const shown = useRef(figure);
  const [error, setError] = useState<unknown>(null);
  const [drawn, setDrawn] = useState(false);
  useEffect(() => {
    zoom.current = onZoom;
    shown.current = figure;
  });
  useEffect(() => {
    let current = true;
    const element = place.current;
    if (element === null) return;
    const linked = zoom.current && { zoom: (range: Range) => zoom.current?.(range), shown };
    draw(element, figure, linked).then(
      () => current && setDrawn(true),
      (reason: unknown) => current && setError(reason),
    );
    return () => {
      current = false;
    };
  }, [figure]);
  useEffect(() => {
    const element = place.current;
    return () => {
      if (element !== null) loadedPlotly()?.purge(element);
    };
  }, []);
  const height = typeof figure.layout.height === 'number' ? figure.layout.height : 360;
  if (error !== null) return <Failure error={error} what="The figure" />;
  return (
    <div style={{ position: 'relative', minHeight: height }} role="figure" aria-label={label}>
      {drawn ? null : <Skeleton height={height} style={{ position: 'absolute', inset: 0 }} />}
      <div ref={place} className="figure" data-drawn={drawn} style={{ minHeight: height }} />
    </div>
  );
}

type Range = [number, number] | null;

/** A figure whose horizontal axis is that of others. */
interface Linked {
  zoom: (range: Range) => void;
  shown: { current: Figure };
}

async function draw(element: HTMLDivElement, figure: Figure, linked: Linked | undefined) {
  const plotly = await loadPlotly();
  const first = !element.classList.contains('js-plotly-plot');
  // Plotly's own way back leads to the axis that it drew first, which may be a part.
  const config = linked ? { ...CONFIG, doubleClick: false as const } : CONFIG;
  // Plotly writes into the layout that it is given.
  await plotly.react(element, figure.data, structuredClone(figure.layout), config);
  if (!first || !linked) return;
  const plot = element as unknown as PlotlyHTMLElement;
  plot.on('plotly_relayout', (event) => {
    const range = zoomedRange(event);
    if (range !== undefined) linked.zoom(range);
  });
  plot.on('plotly_doubleclick', () => {
    linked.zoom(null);
    void draw(element, linked.shown.current, linked);
  });
}

/** The range that a zoom chose; null for all of it; undefined if the horizontal axis was not touched. */
export function zoomedRange(event: PlotRelayoutEvent): [number, number] | null | undefined {
  const whole = (event as { 'xaxis.range'?: [number, number] })['xaxis.range'];
  if (whole !== undefined) return whole;
  const from = event['xaxis.range[0]'];
  const to = event['xaxis.range[1]'];
  if (from !== undefined && to !== undefined) return [from, to];
  return event['xaxis.autorange'] ? null : undefined;
}
