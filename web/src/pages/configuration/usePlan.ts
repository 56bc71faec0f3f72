/**
 * React hooks of the configuration page: load the initial plan and the JSON Schema of plans; hold the edited plan,
 * store its draft in the browser, and request the server's check.
 */
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';

import { api, content } from '../../api/client';
import type { TrialDetail } from '../../api/types';
import { type FieldPath, FIRST_PLAN, fieldsOf, planOfTrial, withField, withOverrides } from './planYaml';
import type { Schema } from './form/schema';
import { requestOf, type RunTarget } from './runTarget';

const DRAFT = 'fabricbench.draft';
const HOUR = 3_600_000;

/** Name of a shipped plan, or id of a trial or run, to start from; the stored draft without any. */
export interface Start {
  plan: string | null;
  trial: string | null;
  /** Id of a run. */
  run: string | null;
  /** Changes to the trial, each FIELD=VALUE; with any, the plan is that of the trial alone. */
  set: readonly string[];
}

export function useStart({ plan, trial, run, set }: Start, version: number) {
  return useQuery({
    queryKey: ['start', plan, trial, run, set, version],
    queryFn: async ({ signal }) => {
      if (plan !== null) return (await shippedPlan(plan, signal)).yaml;
      if (trial !== null) return startOfTrial(await trialOf(trial, signal), set);
      if (run !== null) return planOfRun(run, signal);
      return sessionStorage.getItem(DRAFT) ?? FIRST_PLAN;
    },
    staleTime: Infinity,
    gcTime: 0,
  });
}

/** Stores a text as the draft, from which the page starts. */
export function storeDraft(yaml: string) {
  sessionStorage.setItem(DRAFT, yaml);
}

const shippedPlan = (name: string, signal: AbortSignal) =>
  content(api.GET('/api/v1/plans/{name}', { params: { path: { name } }, signal }));

const trialOf = (id: string, signal: AbortSignal) =>
  content(api.GET('/api/v1/trials/{trial_id}', { params: { path: { trial_id: id } }, signal }));

/** Plan of a run with its overrides, except for its hosts, which are selected again. */
async function planOfRun(run: string, signal: AbortSignal): Promise<string> {
  const { plan_source, overrides } = await content(
    api.GET('/api/v1/runs/{run_id}', { params: { path: { run_id: run } }, signal }),
  );
  return withOverrides(
    plan_source,
    overrides.filter((override) => override !== ON_HOSTS),
  );
}

const ON_HOSTS = 'backend="hosts"';

/** Plan of a trial with its overrides, except for its hosts, which are selected again. */
function startOfTrial(trial: TrialDetail, set: readonly string[]): string {
  const changes = trial.overrides.filter((override) => override !== ON_HOSTS);
  const plan = withOverrides(trial.plan_source, changes);
  return set.length === 0 ? plan : withOverrides(planOfTrial(plan, trial), set);
}

export function useSchema() {
  return useQuery({
    queryKey: ['plan-schema'],
    queryFn: ({ signal }) => content(api.GET('/api/v1/plan-schema', { signal })) as Promise<Schema>,
    staleTime: HOUR,
  });
}

/** State of the edited plan: text, fields, changes, and the server's check for the run target. */
export function usePlan(start: string, target: RunTarget) {
  const [text, setText] = useState(start);
  const [debounced] = useDebouncedValue(text, 350);
  const fields = useMemo(() => fieldsOf(text), [text]);
  const change = useCallback((next: string) => {
    setText(next);
    storeDraft(next);
  }, []);
  const setField = useCallback((field: FieldPath, value: unknown) => {
    setText((before) => {
      const after = withField(before, field, value);
      storeDraft(after);
      return after;
    });
  }, []);
  const check = useQuery({
    queryKey: ['check', debounced, target],
    queryFn: () =>
      content(api.POST('/api/v1/plans/check', { body: { yaml: debounced, ...requestOf(target) } })),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    gcTime: 60_000,
  });
  const isCurrent = debounced === text && !check.isPlaceholderData && !check.isFetching;
  return { text, fields, change, setField, check, isCurrent };
}
