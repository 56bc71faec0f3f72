import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';

import { get, path, send } from '../../api/client';
import type { Checked, TrialDetail } from '../../api/types';
import { EMPTY_PLAN, type FieldPath, fieldsOf, withField, withOverrides } from './plan';
import type { Schema } from './schema';

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
      return sessionStorage.getItem(DRAFT) ?? EMPTY_PLAN;
    },
    staleTime: Infinity,
    gcTime: 0,
  });
}

/** The plan of a trial, with what was changed for its run. */
function startOfTrial(trial: TrialDetail): string {
  return withOverrides(trial.plan_source ?? EMPTY_PLAN, trial.overrides);
}

export function useSchema() {
  return useQuery({
    queryKey: ['plan-schema'],
    queryFn: ({ signal }) => get<Schema>(path('plan-schema'), signal),
    staleTime: HOUR,
  });
}

/** The plan as text, its fields, and what the server says about it. */
export function usePlan(start: string) {
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
    queryKey: ['check', settled],
    queryFn: () => send<Checked>('POST', path('plans', 'check'), { yaml: settled }),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    gcTime: 60_000,
  });
  const isCurrent = settled === text && !check.isPlaceholderData && !check.isFetching;
  return { text, fields, change, setField, check, isCurrent };
}
