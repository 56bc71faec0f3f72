/** Requests of the start page: plans of the gallery, their fabrics, choices of a cluster, plans made of answers or files. */
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query';

import { get, path, query, send } from '../../../api/client';
import type { Checked, FabricMap, Gallery, MadePlan, PlanChoices, RunListPage } from '../../../api/types';
import type { StartPlan } from './gallery';

const HOUR = 3_600_000;
const RUNS = 200;

export const useGallery = () =>
  useQuery({
    queryKey: ['plan-gallery'],
    queryFn: ({ signal }) => get<Gallery>(path('plan-gallery'), signal),
    staleTime: HOUR,
  });

/** The newest runs of the workspace. */
export const useNewestRuns = () =>
  useQuery({
    queryKey: ['trials', 'by-run', 'newest'],
    queryFn: ({ signal }) =>
      get<RunListPage>(path('trials', 'by-run') + query({ limit: String(RUNS) }), signal),
  });

/** Fabric of a plan of the gallery, requested once its card is visible. */
export const useFabric = ({ open }: StartPlan, enabled: boolean) =>
  useQuery({
    queryKey: ['plan-fabric', open],
    queryFn: ({ signal }) =>
      get<FabricMap>(
        'plan' in open ? path('plans', open.plan, 'fabric') : path('runs', open.run, 'fabric'),
        signal,
      ),
    staleTime: HOUR,
    retry: false,
    enabled,
  });

export const usePlanChoices = () =>
  useQuery({
    queryKey: ['plan-choices'],
    queryFn: ({ signal }) => get<PlanChoices>(path('plan-choices'), signal),
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
      const made = await send<MadePlan>('POST', path('plans', 'of-cluster'), answers);
      const { topology } = await send<Checked>('POST', path('plans', 'check'), { yaml: made.yaml });
      return { made, map: topology };
    },
    placeholderData: keepPreviousData,
    staleTime: HOUR,
    retry: false,
  });

export const useDevicePlan = () =>
  useMutation({
    mutationFn: async (file: File) =>
      send<MadePlan>('POST', path('plans', 'of-device'), {
        name: file.name.slice(0, 100),
        text: await file.text(),
      }),
  });
