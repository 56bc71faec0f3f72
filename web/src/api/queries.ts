/**
 * React Query hooks for the HTTP API: cached GET requests (metrics, plans, trials, figures, runs, campaigns, hosts,
 * comparisons) and mutations (tags, deletion, imports, saved views, actions on runs) that refresh the queries they change.
 */
import {
  keepPreviousData,
  type QueryClient,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
  type UseQueryOptions,
} from '@tanstack/react-query';

import type { CampaignAnalysis, CampaignPareto } from './campaigns';
import { get, path, query, send, upload } from './client';
import { FINAL_STATES } from './events';
import type { Cluster, ClusterChoices, ExpectedCurve, Explained, Given } from './expected';
import type {
  About,
  Campaign,
  CampaignDetail,
  Choices,
  Comparison,
  Figure,
  FigureName,
  HostsFile,
  Imported,
  Metric,
  MetricFigure,
  PortMapPage,
  PublishedPlan,
  ResultsOfRun,
  Run,
  RunDetail,
  RunListPage,
  SavedView,
  SavedViews,
  ShippedPlan,
  TimeRange,
  Trial,
  TrialDetail,
  TrialPage,
  Twins,
} from './types';

const HOUR = 3_600_000;

type Options<T> = Omit<UseQueryOptions<T>, 'queryKey' | 'queryFn'>;

/** Cached GET request. */
function useGet<T>(queryKey: readonly unknown[], url: string, options: Options<T> = {}) {
  return useQuery({ queryKey, queryFn: ({ signal }) => get<T>(url, signal), ...options });
}

/** Mutation that refreshes the queries whose keys begin with one of `stale`, after success and failure. */
function useChange<Input, Answer>(
  mutationFn: (input: Input) => Promise<Answer>,
  stale: readonly (readonly string[])[],
) {
  const client = useQueryClient();
  return useMutation({ mutationFn, onSettled: () => refresh(client, stale) });
}

function refresh(client: QueryClient, stale: readonly (readonly string[])[]) {
  return Promise.all(stale.map((queryKey) => client.invalidateQueries({ queryKey })));
}

const TRIALS = [['trials'], ['trial']];

export const useAbout = () => useGet<About>(['about'], path('about'), { staleTime: HOUR });

/** Declarations of all metrics, in the order of output; empty until the server has responded. */
export function useMetrics(): readonly Metric[] {
  const { data } = useGet<{ metrics: Metric[] }>(['metrics'], path('metrics'), { staleTime: HOUR });
  return data?.metrics ?? NO_METRICS;
}

const NO_METRICS: readonly Metric[] = [];

export const useShippedPlans = () =>
  useGet<{ plans: ShippedPlan[] }>(['plans'], path('plans'), { staleTime: HOUR });

export interface TrialFilter {
  search?: string;
  plan?: string;
  tag?: string;
  status?: string;
  variant?: string;
  backend?: string;
  suite?: string;
  where?: string[];
  job?: string;
  sort?: string;
  order?: string;
  limit?: number;
  offset?: number;
  deleted?: boolean;
}

export function trialsUrl(filter: TrialFilter): string {
  return path('trials') + query({ ...filter });
}

export const useTrials = (filter: TrialFilter) =>
  useGet<TrialPage>(['trials', filter], trialsUrl(filter), { placeholderData: keepPreviousData });

const RUNS_PER_PAGE = 50;

/** Runs with a trial that matches a filter, page by page. */
export function useRunList(filter: TrialFilter, enabled: boolean, refetchInterval: number | false) {
  return useInfiniteQuery({
    queryKey: ['trials', 'by-run', filter],
    queryFn: ({ signal, pageParam }) =>
      get<RunListPage>(
        path('trials', 'by-run') + query({ ...filter, offset: pageParam, limit: RUNS_PER_PAGE }),
        signal,
      ),
    initialPageParam: 0,
    getNextPageParam: (last, all) =>
      all.length * RUNS_PER_PAGE < last.total ? all.length * RUNS_PER_PAGE : undefined,
    placeholderData: keepPreviousData,
    refetchInterval,
    enabled,
  });
}

export const useChoices = () => useGet<Choices>(['trials', 'choices'], path('trials', 'choices'));

export const useViews = () => useGet<SavedViews>(['views'], path('views'));

export function useViewSaving() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ name, asked }: Pick<SavedView, 'name' | 'asked'>) =>
      send<SavedView>('PUT', path('views', name), { asked }),
    onSuccess: () => refresh(client, [['views']]),
  });
}

export const useViewDeleting = () =>
  useChange((name: string) => send<SavedViews>('DELETE', path('views', name)), [['views']]);

export const useTrial = (id: string) => useGet<TrialDetail>(['trial', id], path('trials', id));

/** First rows of the port map of a trial. */
export const usePortMap = (id: string) =>
  useGet<PortMapPage>(['port-map', id], path('trials', id, 'port-map'), { staleTime: HOUR });

export const useFigures = (id: string, enabled = true) =>
  useGet<{ figures: FigureName[] }>(['figures', id], path('trials', id, 'figures'), {
    staleTime: HOUR,
    enabled,
  });

/** Filter of the chunks in a timeline; a missing field means all. */
export interface ChunkFilter {
  job?: string;
  rank?: string[];
  status?: string;
}

export function useFigure(id: string, name: string, range: TimeRange | null, filter: ChunkFilter) {
  return useQuery({
    queryKey: ['figure', id, name, range, filter],
    queryFn: async ({ signal }) => {
      const url = path('trials', id, 'figures', name) + query({ ...range, ...filter });
      return { ...(await get<Figure>(url, signal)), range };
    },
    staleTime: HOUR,
    structuralSharing: false,
    placeholderData: (before, from) =>
      from?.queryKey[1] === id && from.queryKey[2] === name ? before : undefined,
  });
}

export const useRuns = () => useGet<{ runs: Run[] }>(['runs'], path('runs'), { refetchInterval: 3_000 });

/** Progress of the campaigns of the workspace. */
export const useCampaigns = () =>
  useGet<{ campaigns: Campaign[] }>(['campaigns'], path('campaigns'), { refetchInterval: 3_000 });

/** A campaign with its trials, refreshed while it runs. */
export const useCampaign = (name: string) =>
  useGet<CampaignDetail>(['campaign', name], path('campaigns', name), {
    refetchInterval: ({ state }) => (state.data?.progress.state === 'running' ? 3_000 : 15_000),
  });

/** Options for data of a campaign: the previous data stays until the new has loaded. */
function campaignOptions<T>(name: string): Options<T> {
  return {
    placeholderData: ((before: T | undefined, from?: { queryKey: readonly unknown[] }) =>
      from?.queryKey[1] === name ? before : undefined) as Options<T>['placeholderData'] & object,
    structuralSharing: false,
  };
}

/** Parameters of the analysis of a campaign; `as_of` is the number of trials with a record. */
interface AnalysisParameters {
  metric: string | null;
  job: string | null;
  relative: boolean;
  as_of: number;
}

export function useCampaignAnalysis(name: string, { as_of, ...parameters }: AnalysisParameters) {
  const url =
    path('campaigns', name, 'analysis') +
    query({ ...parameters, relative: parameters.relative ? 'true' : null });
  return useGet<CampaignAnalysis>(
    ['campaign', name, 'analysis', parameters, as_of],
    url,
    campaignOptions(name),
  );
}

/** Parameters of a Pareto front: its two metrics and the job. */
interface ParetoParameters extends Record<string, string | null> {
  first: string | null;
  second: string | null;
  job: string | null;
}

export const useCampaignPareto = (name: string, parameters: ParetoParameters, asOf: number) =>
  useGet<CampaignPareto>(
    ['campaign', name, 'pareto', parameters, asOf],
    path('campaigns', name, 'pareto') + query(parameters),
    campaignOptions(name),
  );

/** Hosts of the server, whose agents it polls while a page shows them. */
export const useHosts = () =>
  useGet<{ files: HostsFile[] }>(['hosts'], path('hosts'), { refetchInterval: 5_000 });

/** A run, polled in addition to its events in case their stream breaks. */
export const useRun = (id: string) =>
  useGet<RunDetail>(['run', id], path('runs', id), {
    refetchInterval: ({ state }) => (state.data && FINAL_STATES.includes(state.data.state) ? false : 4_000),
  });

/** Results of a run; requested again when a trial has ended, and regularly while it runs. */
export const useRunResults = (id: string, finished: number, active: boolean) =>
  useGet<ResultsOfRun>(['run', id, 'results', finished], path('runs', id, 'results'), {
    placeholderData: keepPreviousData,
    refetchInterval: active ? 5_000 : false,
  });

/** Comparison of trials, of two runs at every common size, or of the variants of one trial's run. */
export const useComparison = (ids: readonly string[], by: 'trial' | 'size' | 'variant', enabled: boolean) =>
  useGet<Comparison>(['compare', ids, by], path('compare') + query({ trial: ids, by }), { enabled });

/** A metric against data size; the previous figure stays until the new one has loaded. */
export const useMetricFigure = (
  resource: string,
  parameters: Record<string, string | readonly string[]>,
  metric: string | null,
) =>
  useGet<MetricFigure>(
    [resource, parameters, 'figure', metric],
    path(resource, 'figure') + query({ ...parameters, metric }),
    { placeholderData: keepPreviousData, structuralSharing: false },
  );

/** Measured run of a trial with the simulator's prediction. */
export const useTwins = (id: string) =>
  useGet<Twins>(['compare', [id], 'twin'], path('compare') + query({ trial: [id], by: 'twin' }));

/** Servers, fabrics and collectives whose curve can be expected. */
export const useClusterChoices = () =>
  useGet<ClusterChoices>(['expected', 'choices'], path('expected', 'choices'), { staleTime: HOUR });

/** Expected curve of a collective on a cluster; the server computes it for up to minutes. */
export const useExpectedCurve = (cluster: Cluster) =>
  useGet<ExpectedCurve>(['expected', cluster], path('expected') + query({ ...cluster }), {
    staleTime: HOUR,
    structuralSharing: false,
    retry: false,
  });

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
      return send<Explained>('POST', path('explained'), { files: await Promise.all(pasted), ...given });
    },
  });

export const usePublished = () => useGet<{ plans: PublishedPlan[] }>(['validation'], path('validation'));

export interface Import {
  file: File;
  /** The server detects the format if it is null. */
  format: string | null;
  plan: string | null;
  name: string;
  tags: string[];
  ranks: string;
  benchmark: string;
}

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
    mutationFn: async ({ file, tags, ...options }: Import) => {
      const content = await contentOf(file);
      const url = path('imports') + query({ file: file.name.slice(0, 100), tag: tags, ...options });
      return upload<Imported>(url, content);
    },
    onSuccess: () => refresh(client, TRIALS),
  });
}

interface TagChange {
  ids: string[];
  add: string[];
  remove: string[];
}

export const useTagging = () =>
  useChange(
    ({ ids, add, remove }: TagChange) =>
      Promise.all(ids.map((id) => send<Trial>('PATCH', path('trials', id), { tags: { add, remove } }))),
    TRIALS,
  );

export const useDeleting = () =>
  useChange((ids: string[]) => Promise.all(ids.map((id) => send('DELETE', path('trials', id)))), TRIALS);

export const useRestoring = () =>
  useChange(
    (ids: string[]) => Promise.all(ids.map((id) => send('POST', path('trials', id, 'restore')))),
    TRIALS,
  );

export const useRunAction = (id: string) =>
  useChange((action: 'cancel' | 'resume') => send('POST', path('runs', id, action)), [['run', id], ['runs']]);
