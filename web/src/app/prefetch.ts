/**
 * First requests of the pages of a run and a trial, sent while the code of the page is loaded: its data and the figures
 * that it shows first. A failure is shown by the page, which sends the request again.
 */
import {
  figureQuery,
  figuresQuery,
  metricsQuery,
  portMapQuery,
  runQuery,
  runResultsQuery,
  trialQuery,
} from '../api/queries';
import type { FigureName } from '../api/types';
import { figuresOfRun } from '../pages/run/runFigures';
import { figuresOf, hasFigures, mainFigure } from '../pages/trial/views';
import { queryClient } from './queryClient';

export interface PageAddress {
  params: Readonly<Record<string, string | undefined>>;
  search: URLSearchParams;
}

export async function prefetchRun({ params: { id = '' } }: PageAddress) {
  leave(queryClient.query(metricsQuery));
  const run = await queryClient.query(runQuery(id));
  const results = await queryClient.query(runResultsQuery(id, run.trials_finished));
  if (results.focus === null) return;
  const { figures } = await queryClient.query(figuresQuery(results.focus));
  const { curve, others } = figuresOfRun(results, figures);
  prefetchFigures(results.focus, curve === undefined ? others : [curve, ...others]);
}

export async function prefetchTrial({ params: { id = '', view = 'summary' }, search }: PageAddress) {
  leave(queryClient.query(metricsQuery));
  leave(queryClient.query(trialQuery(id)));
  if (view === 'port-map') leave(queryClient.query(portMapQuery(id)));
  // Parameters of the URL choose a part of a figure.
  if (!hasFigures(view) && view !== 'summary') return;
  const { figures } = await queryClient.query(figuresQuery(id));
  if (search.size > 0) return;
  const main = view === 'summary' ? mainFigure(figures) : undefined;
  prefetchFigures(id, main === undefined ? figuresOf(view, figures) : [main]);
}

/** The cache has the answer of a request, or its error. */
function leave(request: Promise<unknown>) {
  request.catch(() => undefined);
}

function prefetchFigures(trial: string, figures: readonly FigureName[]) {
  for (const { name } of figures) leave(queryClient.query(figureQuery(trial, name, null, {})));
}
