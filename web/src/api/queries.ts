/**
 * React Query hooks for the HTTP API: cached GET requests (metrics, plans, trials, figures, runs, campaigns, hosts,
 * comparisons) and mutations (tags, deletion, imports, saved views, actions on runs) that refresh the queries they change.
 */
import {
  keepPreviousData,
  type QueryClient,
  queryOptions,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import createQueries from 'openapi-react-query';
import { useMemo } from 'react';

import { api, content } from './client';
import type { components, paths } from './schema';
import type { Comparison, FigureName, Given, Metric, RunState, SavedView, TablePage, Twins } from './types';

const HOUR = 3_600_000;

/** States that a run leaves only when it is resumed. */
export const FINAL_STATES: readonly RunState[] = ['complete', 'cancelled', 'failed', 'interrupted'];

/** Cached requests; the key of each is method, path and parameters. */
const server = createQueries(api);

type Path = keyof paths;
type QueryOf<P extends Path> = paths[P] extends { get: { parameters: { query?: infer Query } } }
  ? NonNullable<Query>
  : never;

/** Answers that change with trials, and with runs. */
const TRIALS: readonly Path[] = [
  '/api/v1/trials',
  '/api/v1/trials/by-run',
  '/api/v1/trials/choices',
  '/api/v1/trials/{trial_id}',
];
const RUN: readonly Path[] = ['/api/v1/runs/{run_id}', '/api/v1/runs/{run_id}/results'];
const RUNS: readonly Path[] = ['/api/v1/runs'];
/** Comparisons and figures of trials, which the next trial of their run changes. */
const FIGURES: readonly Path[] = [
  '/api/v1/compare',
  '/api/v1/compare/figure',
  '/api/v1/trials/{trial_id}/figures',
  '/api/v1/trials/{trial_id}/figures/{name}',
];

/** Requests the answers of some paths again where they are shown, and else when they are shown next. */
function refresh(client: QueryClient, stale: readonly Path[]) {
  return Promise.all(stale.map((path) => client.invalidateQueries({ queryKey: ['get', path] })));
}

/** Functions that refresh what a run changes: its own page, lists of runs, lists of trials, comparisons and figures. */
export function useRefreshing() {
  const client = useQueryClient();
  return useMemo(
    () => ({
      run: () => void refresh(client, RUN),
      runs: () => void refresh(client, RUNS),
      trials: () => void refresh(client, TRIALS),
      figures: () => {
        for (const path of FIGURES) {
          // A first request under way would count as fresh, although it may have left before the trial ended.
          void client.cancelQueries({ queryKey: ['get', path] }).then(() => refresh(client, [path]));
        }
      },
    }),
    [client],
  );
}

/** Mutation that refreshes the answers of the paths `stale`, after success and failure. */
function useChange<Input, Answer>(mutationFn: (input: Input) => Promise<Answer>, stale: readonly Path[]) {
  const client = useQueryClient();
  return useMutation({ mutationFn, onSettled: () => refresh(client, stale) });
}

/** Previous data stays until the new has loaded, if it is of the same resource. */
function previousOf(resource: Record<string, string>) {
  return <T>(before: T | undefined, from?: { queryKey: readonly unknown[] }): T | undefined => {
    const init = from?.queryKey[2] as { params?: { path?: unknown } } | undefined;
    return JSON.stringify(init?.params?.path) === JSON.stringify(resource) ? before : undefined;
  };
}

export const useAbout = () => server.useQuery('get', '/api/v1/about', {}, { staleTime: HOUR });

export const metricsQuery = server.queryOptions('get', '/api/v1/metrics', {}, { staleTime: HOUR });

/** Declarations of all metrics, in the order of output; empty until the server has responded. */
export const useMetrics = (): readonly Metric[] => useQuery(metricsQuery).data?.metrics ?? NO_METRICS;

const NO_METRICS: readonly Metric[] = [];

export const useShippedPlans = () => server.useQuery('get', '/api/v1/plans', {}, { staleTime: HOUR });

export type TrialFilter = QueryOf<'/api/v1/trials'>;

export const trialsOf = (filter: TrialFilter, signal: AbortSignal) =>
  content(api.GET('/api/v1/trials', { params: { query: filter }, signal }));

export const useTrials = (filter: TrialFilter) =>
  server.useQuery(
    'get',
    '/api/v1/trials',
    { params: { query: filter } },
    { placeholderData: keepPreviousData },
  );

const RUNS_PER_PAGE = 50;

/** Runs with a trial that matches a filter, page by page. */
export const useRunList = (filter: TrialFilter, enabled: boolean, refetchInterval: number | false) =>
  server.useInfiniteQuery(
    'get',
    '/api/v1/trials/by-run',
    { params: { query: { ...filter, limit: RUNS_PER_PAGE } } },
    {
      pageParamName: 'offset',
      initialPageParam: 0,
      getNextPageParam: (last, all) =>
        all.length * RUNS_PER_PAGE < last.total ? all.length * RUNS_PER_PAGE : undefined,
      placeholderData: keepPreviousData,
      refetchInterval,
      enabled,
    },
  );

export const useChoices = () => server.useQuery('get', '/api/v1/trials/choices');

export const useViews = () => server.useQuery('get', '/api/v1/views');

const VIEWS: readonly Path[] = ['/api/v1/views'];

export function useViewSaving() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ name, asked }: Pick<SavedView, 'name' | 'asked'>) =>
      content(api.PUT('/api/v1/views/{name}', { params: { path: { name } }, body: { asked } })),
    onSuccess: () => refresh(client, VIEWS),
  });
}

export const useViewDeleting = () =>
  useChange(
    (name: string) => content(api.DELETE('/api/v1/views/{name}', { params: { path: { name } } })),
    VIEWS,
  );

export const trialQuery = (id: string) =>
  server.queryOptions('get', '/api/v1/trials/{trial_id}', { params: { path: { trial_id: id } } });

export const useTrial = (id: string) => useQuery(trialQuery(id));

type RowsQuery = QueryOf<'/api/v1/trials/{trial_id}/tables/{table}'>;
type TableName = components['schemas']['TableName'];

/** Rows of a table of a trial. */
export const rowsOf = (id: string, table: string, query: RowsQuery, signal: AbortSignal) =>
  content(
    api.GET('/api/v1/trials/{trial_id}/tables/{table}', {
      params: { path: { trial_id: id, table: table as TableName }, query },
      signal,
    }),
  ) as Promise<TablePage>;

/** First rows of the port map of a trial. */
export const portMapQuery = (id: string) =>
  server.queryOptions(
    'get',
    '/api/v1/trials/{trial_id}/port-map',
    { params: { path: { trial_id: id } } },
    { staleTime: HOUR },
  );

export const usePortMap = (id: string) => useQuery(portMapQuery(id));

export const figuresQuery = (id: string) =>
  server.queryOptions(
    'get',
    '/api/v1/trials/{trial_id}/figures',
    { params: { path: { trial_id: id } } },
    { staleTime: HOUR },
  );

export const useFigures = (id: string, enabled = true) => useQuery({ ...figuresQuery(id), enabled });

type FigureQuery = QueryOf<'/api/v1/trials/{trial_id}/figures/{name}'>;

/** Range of simulated time. */
export type TimeRange = Record<'from_ps' | 'to_ps', number>;

/** Filter of the chunks in a timeline; a missing field means all. */
export type ChunkFilter = Pick<FigureQuery, 'job' | 'rank' | 'status'>;

/** Figure of a trial, with the range that it was drawn for; null is the whole run. */
export function figureQuery(
  id: string,
  name: FigureName['name'],
  range: TimeRange | null,
  filter: ChunkFilter,
) {
  const resource = { trial_id: id, name };
  const init = { params: { path: resource, query: { ...range, ...filter } } };
  return queryOptions({
    queryKey: ['get', '/api/v1/trials/{trial_id}/figures/{name}', init],
    queryFn: async ({ signal }) => ({
      ...(await content(api.GET('/api/v1/trials/{trial_id}/figures/{name}', { ...init, signal }))),
      range,
    }),
    staleTime: HOUR,
    structuralSharing: false,
    placeholderData: previousOf(resource),
  });
}

export const useFigure = (...query: Parameters<typeof figureQuery>) => useQuery(figureQuery(...query));

export const useRuns = () => server.useQuery('get', '/api/v1/runs', {}, { refetchInterval: 3_000 });

/** Progress of the campaigns of the workspace. */
export const useCampaigns = () => server.useQuery('get', '/api/v1/campaigns', {}, { refetchInterval: 3_000 });

/** A campaign with its trials, refreshed while it runs. */
export const useCampaign = (name: string) =>
  server.useQuery(
    'get',
    '/api/v1/campaigns/{name}',
    { params: { path: { name } } },
    { refetchInterval: ({ state }) => (state.data?.progress.state === 'running' ? 3_000 : 15_000) },
  );

/** Analysis of a campaign; `asOf`, the number of trials with a record, has it requested again. */
export const useCampaignAnalysis = (
  name: string,
  query: QueryOf<'/api/v1/campaigns/{name}/analysis'>,
  asOf: number,
) =>
  server.useQuery(
    'get',
    '/api/v1/campaigns/{name}/analysis',
    { params: { path: { name }, query }, asOf },
    { placeholderData: previousOf({ name }), structuralSharing: false },
  );

export const useCampaignPareto = (
  name: string,
  query: QueryOf<'/api/v1/campaigns/{name}/pareto'>,
  asOf: number,
) =>
  server.useQuery(
    'get',
    '/api/v1/campaigns/{name}/pareto',
    { params: { path: { name }, query }, asOf },
    { placeholderData: previousOf({ name }), structuralSharing: false },
  );

/** Hosts of the server, whose agents it polls while a page shows them. */
export const useHosts = () => server.useQuery('get', '/api/v1/hosts', {}, { refetchInterval: 5_000 });

export const runQuery = (id: string) =>
  server.queryOptions('get', '/api/v1/runs/{run_id}', { params: { path: { run_id: id } } });

/** A run, polled in addition to its events in case their stream breaks. */
export const useRun = (id: string) =>
  useQuery({
    ...runQuery(id),
    refetchInterval: ({ state }) => (state.data && FINAL_STATES.includes(state.data.state) ? false : 4_000),
  });

export const runResultsQuery = (id: string, finished: number) =>
  server.queryOptions('get', '/api/v1/runs/{run_id}/results', {
    params: { path: { run_id: id } },
    finished,
  });

/** Results of a run; requested again when a trial has ended, and regularly while it runs. */
export const useRunResults = (id: string, finished: number, active: boolean) =>
  useQuery({
    ...runResultsQuery(id, finished),
    placeholderData: keepPreviousData,
    refetchInterval: active ? 5_000 : false,
  });

/** Comparison of trials, of two runs at every common size, or of the variants of one trial's run. */
export const useComparison = (ids: string[], by: 'trial' | 'size' | 'variant', enabled: boolean) =>
  server.useQuery(
    'get',
    '/api/v1/compare',
    { params: { query: { trial: ids, by } } },
    { enabled, select: (answer) => answer as Comparison },
  );

/** Measured run of a trial with the simulator's prediction. */
export const useTwins = (id: string) =>
  server.useQuery(
    'get',
    '/api/v1/compare',
    { params: { query: { trial: [id], by: 'twin' } } },
    { select: (answer) => answer as Twins },
  );

/** A metric of compared trials against data size; the previous figure stays until the new one has loaded. */
export const useComparedFigure = (query: QueryOf<'/api/v1/compare/figure'>) =>
  server.useQuery('get', '/api/v1/compare/figure', { params: { query } }, WHOLE_FIGURE);

/** A metric of published results and ours against data size, likewise. */
export const usePublishedFigure = (query: QueryOf<'/api/v1/validation/figure'>) =>
  server.useQuery('get', '/api/v1/validation/figure', { params: { query } }, WHOLE_FIGURE);

const WHOLE_FIGURE = { placeholderData: keepPreviousData, structuralSharing: false } as const;

/** Servers, fabrics and collectives whose curve can be expected. */
export const useClusterChoices = () =>
  server.useQuery('get', '/api/v1/expected/choices', {}, { staleTime: HOUR });

/** Parameters of an expected curve: servers of a cluster, their fabric, the collective. */
export type Cluster = Required<QueryOf<'/api/v1/expected'>>;
export type ClusterParts = Pick<Cluster, 'cluster' | 'servers' | 'topology'>;

/** Expected curve of a collective on a cluster; the server computes it for up to minutes. */
export const useExpectedCurve = (cluster: Cluster) =>
  server.useQuery(
    'get',
    '/api/v1/expected',
    { params: { query: cluster } },
    { staleTime: HOUR, structuralSharing: false, retry: false },
  );

/** A file to explain; `earlier` for counters from before the run. */
export interface FileToExplain {
  file: File;
  earlier: boolean;
}

/** Explains measured results with the files next to them; nothing is stored. */
export const useExplaining = () =>
  useMutation({
    mutationFn: async ({ files, given }: { files: readonly FileToExplain[]; given: Given }) => {
      const pasted = files.map(async ({ file, earlier }) => {
        const text = new TextDecoder().decode(await contentOf(file));
        return { name: file.name.slice(0, 100), text, earlier };
      });
      return content(api.POST('/api/v1/explained', { body: { files: await Promise.all(pasted), ...given } }));
    },
  });

export const usePublished = () => server.useQuery('get', '/api/v1/validation');

type ImportQuery = NonNullable<paths['/api/v1/imports']['post']['parameters']['query']>;

/** A file to import, with the values that it lacks; the server detects the format if it is null. */
export type Import = Required<Pick<ImportQuery, 'format' | 'plan' | 'name' | 'benchmark'>> & {
  file: File;
  tags: string[];
  ranks: string;
};

/** Content of a file; browsers refuse files that have changed since they were selected. */
function contentOf(file: File): Promise<ArrayBuffer> {
  return file.arrayBuffer().catch(() => {
    throw new Error(`${file.name} was changed or removed since it was selected. Select it again.`);
  });
}

/** Uploads a file of measured results; each result becomes a trial. */
export function useImporting() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async ({ file, tags, ranks, ...options }: Import) => {
      const bytes = await contentOf(file);
      const query = {
        ...options,
        file: file.name.slice(0, 100),
        tag: tags,
        ranks: ranks as unknown as number,
      };
      return content(
        api.POST('/api/v1/imports', {
          params: { query },
          headers: { 'Content-Type': 'application/octet-stream' },
          body: bytes as unknown as string,
          bodySerializer: () => bytes,
        }),
      );
    },
    onSuccess: () => refresh(client, TRIALS),
  });
}

interface TagChange {
  ids: string[];
  add: string[];
  remove: string[];
}

const trialOf = (id: string) => ({ params: { path: { trial_id: id } } });

export const useTagging = () =>
  useChange(
    ({ ids, ...tags }: TagChange) =>
      Promise.all(
        ids.map((id) => content(api.PATCH('/api/v1/trials/{trial_id}', { ...trialOf(id), body: { tags } }))),
      ),
    TRIALS,
  );

export const useDeleting = () =>
  useChange(
    (ids: string[]) => Promise.all(ids.map((id) => api.DELETE('/api/v1/trials/{trial_id}', trialOf(id)))),
    TRIALS,
  );

export const useRestoring = () =>
  useChange(
    (ids: string[]) =>
      Promise.all(ids.map((id) => api.POST('/api/v1/trials/{trial_id}/restore', trialOf(id)))),
    TRIALS,
  );

export const useRunAction = (id: string) =>
  useChange(
    (action: 'cancel' | 'resume') =>
      api.POST(`/api/v1/runs/{run_id}/${action}`, { params: { path: { run_id: id } } }),
    [...RUN, ...RUNS],
  );
