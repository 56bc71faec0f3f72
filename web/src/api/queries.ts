/** What pages ask the server for, as cached queries. */
import {
  keepPreviousData,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';

import { get, path, query, send, upload } from './client';
import { FINAL_STATES } from './states';
import type { CampaignAnalysis, CampaignPareto } from './campaigns';
import type {
  About,
  Campaign,
  CampaignDetail,
  Choices,
  Comparison,
  Twins,
  Figure,
  FigureName,
  HostsFile,
  Imported,
  Metric,
  MetricFigure,
  PortMapPage,
  Run,
  RunDetail,
  RunListPage,
  SavedView,
  SavedViews,
  ShippedPlan,
  Stretch,
  Trial,
  TrialDetail,
  TrialPage,
} from './types';

const HOUR = 3_600_000;

export function useAbout() {
  return useQuery({
    queryKey: ['about'],
    queryFn: ({ signal }) => get<About>(path('about'), signal),
    staleTime: HOUR,
  });
}

/** Every metric as it is declared, in the order of output; none until the server has answered. */
export function useMetrics(): readonly Metric[] {
  const { data } = useQuery({
    queryKey: ['metrics'],
    queryFn: ({ signal }) => get<{ metrics: Metric[] }>(path('metrics'), signal),
    staleTime: HOUR,
  });
  return data?.metrics ?? NO_METRICS;
}

const NO_METRICS: readonly Metric[] = [];

export function useShippedPlans() {
  return useQuery({
    queryKey: ['plans'],
    queryFn: ({ signal }) => get<{ plans: ShippedPlan[] }>(path('plans'), signal),
    staleTime: HOUR,
  });
}

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

export function useTrials(filter: TrialFilter, refreshMs: number | false = false) {
  return useQuery({
    queryKey: ['trials', filter],
    queryFn: ({ signal }) => get<TrialPage>(trialsUrl(filter), signal),
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs,
  });
}

const RUNS_AT_ONCE = 50;

/** The runs that have a trial which matches, some at a time. */
export function useRunList(filter: TrialFilter, enabled: boolean, refreshMs: number | false) {
  return useInfiniteQuery({
    queryKey: ['trials', 'by-run', filter],
    queryFn: ({ signal, pageParam }) =>
      get<RunListPage>(
        path('trials', 'by-run') + query({ ...filter, offset: pageParam, limit: RUNS_AT_ONCE }),
        signal,
      ),
    initialPageParam: 0,
    getNextPageParam: (last, all) =>
      all.length * RUNS_AT_ONCE < last.total ? all.length * RUNS_AT_ONCE : undefined,
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs,
    enabled,
  });
}

export function useChoices() {
  return useQuery({
    queryKey: ['trials', 'choices'],
    queryFn: ({ signal }) => get<Choices>(path('trials', 'choices'), signal),
  });
}

export function useViews() {
  return useQuery({
    queryKey: ['views'],
    queryFn: ({ signal }) => get<SavedViews>(path('views'), signal),
  });
}

export function useViewSaving() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ name, asked }: Pick<SavedView, 'name' | 'asked'>) =>
      send<SavedView>('PUT', path('views', name), { asked }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['views'] }),
  });
}

export function useViewDeleting() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (name: string) => send<SavedViews>('DELETE', path('views', name)),
    onSettled: () => client.invalidateQueries({ queryKey: ['views'] }),
  });
}

export function useTrial(id: string) {
  return useQuery({
    queryKey: ['trial', id],
    queryFn: ({ signal }) => get<TrialDetail>(path('trials', id), signal),
  });
}

/** The first rows of the port map of a trial. */
export function usePortMap(id: string) {
  return useQuery({
    queryKey: ['port-map', id],
    queryFn: ({ signal }) => get<PortMapPage>(path('trials', id, 'port-map'), signal),
    staleTime: HOUR,
  });
}

export function useFigures(id: string) {
  return useQuery({
    queryKey: ['figures', id],
    queryFn: ({ signal }) => get<{ figures: FigureName[] }>(path('trials', id, 'figures'), signal),
    staleTime: HOUR,
  });
}

/** Which chunks a timeline shows; without one of these, all. */
export interface ChunkFilter {
  job?: string;
  rank?: string[];
  status?: string;
}

export function useFigure(id: string, name: string, stretch: Stretch | null, filter: ChunkFilter) {
  return useQuery({
    queryKey: ['figure', id, name, stretch, filter],
    queryFn: async ({ signal }) => {
      const url = path('trials', id, 'figures', name) + query({ ...stretch, ...filter });
      return { ...(await get<Figure>(url, signal)), stretch };
    },
    staleTime: HOUR,
    structuralSharing: false,
    placeholderData: (before, from) =>
      from?.queryKey[1] === id && from.queryKey[2] === name ? before : undefined,
  });
}

export function useRuns() {
  return useQuery({
    queryKey: ['runs'],
    queryFn: ({ signal }) => get<{ runs: Run[] }>(path('runs'), signal),
    refetchInterval: 3_000,
  });
}

/** How far the campaigns of the workspace are. */
export function useCampaigns() {
  return useQuery({
    queryKey: ['campaigns'],
    queryFn: ({ signal }) => get<{ campaigns: Campaign[] }>(path('campaigns'), signal),
    refetchInterval: 3_000,
  });
}

/** A campaign with its trials; while it runs, what has ended comes in every few seconds. */
export function useCampaign(name: string) {
  return useQuery({
    queryKey: ['campaign', name],
    queryFn: ({ signal }) => get<CampaignDetail>(path('campaigns', name), signal),
    refetchInterval: ({ state }) => (state.data?.progress.state === 'running' ? 3_000 : 15_000),
  });
}

/** What is asked of the analysis of a campaign; `as_of` is how many trials it is made from. */
export interface CampaignQuestion {
  metric: string | null;
  job: string | null;
  relative: boolean;
  as_of: number;
}

/** What the factors of a campaign do; the analysis before stays until another has come. */
export function useCampaignAnalysis(name: string, { as_of, ...asked }: CampaignQuestion) {
  return useQuery({
    queryKey: ['campaign', name, 'analysis', asked, as_of],
    queryFn: ({ signal }) =>
      get<CampaignAnalysis>(
        path('campaigns', name, 'analysis') + query({ ...asked, relative: asked.relative ? 'true' : null }),
        signal,
      ),
    placeholderData: (before, from) => (from?.queryKey[1] === name ? before : undefined),
    structuralSharing: false,
  });
}

/** Two metrics of the settings of a campaign. */
export function useCampaignPareto(
  name: string,
  asked: { first: string | null; second: string | null; job: string | null },
  asOf: number,
) {
  return useQuery({
    queryKey: ['campaign', name, 'pareto', asked, asOf],
    queryFn: ({ signal }) => get<CampaignPareto>(path('campaigns', name, 'pareto') + query(asked), signal),
    placeholderData: (before, from) => (from?.queryKey[1] === name ? before : undefined),
    structuralSharing: false,
  });
}

/** The hosts of the server; it asks their agents every few seconds as long as somebody looks. */
export function useHosts() {
  return useQuery({
    queryKey: ['hosts'],
    queryFn: ({ signal }) => get<{ files: HostsFile[] }>(path('hosts'), signal),
    refetchInterval: 5_000,
  });
}

/** A run; events tell of it sooner, but a stream that broke must not leave the page behind for good. */
export function useRun(id: string) {
  return useQuery({
    queryKey: ['run', id],
    queryFn: ({ signal }) => get<RunDetail>(path('runs', id), signal),
    refetchInterval: ({ state }) => (state.data && FINAL_STATES.includes(state.data.state) ? false : 4_000),
  });
}

/** Compares trials, two runs at every size that both have, or the variants of the run of one trial. */
export function useComparison(ids: readonly string[], by: 'trial' | 'size' | 'variant', enabled: boolean) {
  return useQuery({
    queryKey: ['compare', ids, by],
    queryFn: ({ signal }) => get<Comparison>(path('compare') + query({ trial: ids, by }), signal),
    enabled,
  });
}

/** A metric against data size of what a page shows; the one before stays until another has come. */
export function useMetricFigure(
  resource: string,
  asked: Record<string, string | readonly string[]>,
  metric: string | null,
) {
  return useQuery({
    queryKey: [resource, asked, 'figure', metric],
    queryFn: ({ signal }) =>
      get<MetricFigure>(path(resource, 'figure') + query({ ...asked, metric }), signal),
    placeholderData: keepPreviousData,
    structuralSharing: false,
  });
}

/** The measured run of a trial beside what the simulator predicts of it. */
export function useTwins(id: string) {
  return useQuery({
    queryKey: ['compare', [id], 'twin'],
    queryFn: ({ signal }) => get<Twins>(path('compare') + query({ trial: [id], by: 'twin' }), signal),
  });
}

export interface Import {
  file: File;
  /** Detected by the server if it is null. */
  format: string | null;
  plan: string | null;
  name: string;
  tags: string[];
  ranks: string;
  benchmark: string;
}

/** A browser reads a file only as long as it is as it was when it was chosen. */
function contentOf(file: File): Promise<ArrayBuffer> {
  return file.arrayBuffer().catch(() => {
    throw new Error(`${file.name} has changed or gone since it was chosen. Choose it again.`);
  });
}

/** Sends a file of measured results; each of its results becomes a trial. */
export function useImporting() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async ({ file, tags, ...options }: Import) => {
      const content = await contentOf(file);
      const url = path('imports') + query({ file: file.name.slice(0, 100), tag: tags, ...options });
      return upload<Imported>(url, content);
    },
    onSuccess: () => refreshTrials(client),
  });
}

/** Changes tags of trials; the server answers with the trial. */
export function useTagging() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ ids, add, remove }: { ids: string[]; add: string[]; remove: string[] }) =>
      Promise.all(ids.map((id) => send<Trial>('PATCH', path('trials', id), { tags: { add, remove } }))),
    onSettled: () => refreshTrials(client),
  });
}

export function useDeleting() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (ids: string[]) => Promise.all(ids.map((id) => send('DELETE', path('trials', id)))),
    onSettled: () => refreshTrials(client),
  });
}

export function useRestoring() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (ids: string[]) => Promise.all(ids.map((id) => send('POST', path('trials', id, 'restore')))),
    onSettled: () => refreshTrials(client),
  });
}

export function useRunAction(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (action: 'cancel' | 'resume') => send('POST', path('runs', id, action)),
    onSettled: () =>
      Promise.all([
        client.invalidateQueries({ queryKey: ['run', id] }),
        client.invalidateQueries({ queryKey: ['runs'] }),
      ]),
  });
}

function refreshTrials(client: ReturnType<typeof useQueryClient>) {
  return Promise.all([
    client.invalidateQueries({ queryKey: ['trials'] }),
    client.invalidateQueries({ queryKey: ['trial'] }),
  ]);
}
