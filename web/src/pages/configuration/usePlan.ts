import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';

import { get, path, send } from '../../api/client';
import type { Checked, TrialDetail } from '../../api/types';
import { EMPTY_PLAN, type FieldPath, FIRST_PLAN, fieldsOf, withField, withOverrides } from './planYaml';
import type { Schema } from './form/schema';
import { requestOf, type Where } from './runTarget';

const DRAFT = 'fabricbench.draft';
const HOUR = 3_600_000;

/** Where the form begins: a shipped plan, the plan of a trial, or what was being written. */
export interface Start {
  plan: string | null;
  trial: string | null;
}

export function useStart({ plan, trial }: Start) {
  return useQuery({
    queryKey: ['start', plan, trial],
    queryFn: async ({ signal }) => {
      if (plan !== null) return (await get<{ yaml: string }>(path('plans', plan), signal)).yaml;
      if (trial !== null) return startOfTrial(await get<TrialDetail>(path('trials', trial), signal));
      return sessionStorage.getItem(DRAFT) ?? FIRST_PLAN;
    },
    staleTime: Infinity,
    gcTime: 0,
  });
}

const ON_HOSTS = 'backend="hosts"';

/** The plan of a trial, with what was changed for its run; on which hosts it runs is chosen anew. */
function startOfTrial(trial: TrialDetail): string {
  const changes = trial.overrides.filter((override) => override !== ON_HOSTS);
  return withOverrides(trial.plan_source ?? EMPTY_PLAN, changes);
}

export function useSchema() {
  return useQuery({
    queryKey: ['plan-schema'],
    queryFn: ({ signal }) => get<Schema>(path('plan-schema'), signal),
    staleTime: HOUR,
  });
}

/** The plan as text, its fields, and what the server says about running it there. */
export function usePlan(start: string, where: Where) {
  const [text, setText] = useState(start);
  const [settled] = useDebouncedValue(text, 350);
  const fields = useMemo(() => fieldsOf(text), [text]);
  const change = useCallback((next: string) => {
    setText(next);
    sessionStorage.setItem(DRAFT, next);
  }, []);
  const setField = useCallback((field: FieldPath, value: unknown) => {
    setText((before) => {
      const after = withField(before, field, value);
      sessionStorage.setItem(DRAFT, after);
      return after;
    });
  }, []);
  const check = useQuery({
    queryKey: ['check', settled, where],
    queryFn: () => send<Checked>('POST', path('plans', 'check'), { yaml: settled, ...requestOf(where) }),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    gcTime: 60_000,
  });
  const isCurrent = settled === text && !check.isPlaceholderData && !check.isFetching;
  return { text, fields, change, setField, check, isCurrent };
}
