/** Loads the Plotly library on first use, from the server, whose version of Plotly made the figures. */
import type Plotly from 'plotly.js';

type PlotlyModule = typeof Plotly;

/** The library, if it has been loaded. */
export function loadedPlotly(): PlotlyModule | undefined {
  return (window as { Plotly?: PlotlyModule }).Plotly;
}

let loading: Promise<PlotlyModule> | null = null;

export function loadPlotly(): Promise<PlotlyModule> {
  loading ??= fetchScript().catch((error: unknown) => {
    loading = null;
    throw error;
  });
  return loading;
}

function fetchScript(): Promise<PlotlyModule> {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = '/vendor/plotly.min.js';
    script.onload = () => {
      const plotly = loadedPlotly();
      if (plotly) resolve(plotly);
      else reject(new Error('The drawing library did not start.'));
    };
    script.onerror = () => {
      script.remove();
      reject(new Error('The drawing library cannot be loaded from the server.'));
    };
    document.head.append(script);
  });
}
