/** Requests of the start page: plans of the gallery, their fabrics, choices of a cluster, plans made of answers or files. */
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query';

import { api, content } from '../../../api/client';
import type { StartPlan } from './gallery';

const HOUR = 3_600_000;
const RUNS = 200;

export const useGallery = () =>
  useQuery({
    queryKey: ['plan-gallery'],
    queryFn: ({ signal }) => content(api.GET('/api/v1/plan-gallery', { signal })),
    staleTime: HOUR,
  });

/** The newest runs of the workspace. */
export const useNewestRuns = () =>
  useQuery({
    queryKey: ['get', '/api/v1/trials/by-run', 'newest'],
    queryFn: ({ signal }) =>
      content(api.GET('/api/v1/trials/by-run', { params: { query: { limit: RUNS } }, signal })),
  });

/** Fabric of a shipped plan or a run; a card of the gallery requests it once it is visible. */
export const useFabric = ({ open }: Pick<StartPlan, 'open'>, enabled: boolean) =>
  useQuery({
    queryKey: ['plan-fabric', open],
    queryFn: ({ signal }) =>
      content(
        'plan' in open
          ? api.GET('/api/v1/plans/{name}/fabric', { params: { path: { name: open.plan } }, signal })
          : api.GET('/api/v1/runs/{run_id}/fabric', { params: { path: { run_id: open.run } }, signal }),
      ),
    staleTime: HOUR,
    retry: false,
    enabled,
  });

export const usePlanChoices = () =>
  useQuery({
    queryKey: ['plan-choices'],
    queryFn: ({ signal }) => content(api.GET('/api/v1/plan-choices', { signal })),
    staleTime: HOUR,
  });

/** Answers to the five questions, and the collective to run. */
export interface Answers {
  cluster: string;
  servers: number;
  adapters: number | null;
  topology: string;
  tiers: number | null;
  oversubscription: number;
  load_balancing: string | null;
  collective: string;
}

/** Plan of the answers, and its fabric; the previous one stays until the next has been made. */
export const useClusterPlan = (answers: Answers) =>
  useQuery({
    queryKey: ['cluster-plan', answers],
    queryFn: async () => {
      const made = await content(api.POST('/api/v1/plans/of-cluster', { body: answers }));
      const { topology } = await content(api.POST('/api/v1/plans/check', { body: { yaml: made.yaml } }));
      return { made, map: topology };
    },
    placeholderData: keepPreviousData,
    staleTime: HOUR,
    retry: false,
  });

export const useDevicePlan = () =>
  useMutation({
    mutationFn: async (file: File) =>
      content(
        api.POST('/api/v1/plans/of-device', {
          body: { name: file.name.slice(0, 100), text: await file.text() },
        }),
      ),
  });
