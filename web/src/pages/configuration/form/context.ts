import { createContext, useContext } from 'react';

import type { Fault } from '../../../api/types';
import type { FieldPath } from '../planYaml';
import type { Definitions, Schema } from './schema';

export interface PlanForm {
  definitions: Definitions;
  /** The plan's fields as written, without defaults. */
  fields: Record<string, unknown>;
  errors: readonly Fault[];
  set: (path: FieldPath, value: unknown) => void;
  explain: (help: Help) => void;
}

export interface Help {
  field: string;
  schema: Schema;
}

export const PlanFormContext = createContext<PlanForm | null>(null);

export function usePlanForm(): PlanForm {
  const form = useContext(PlanFormContext);
  if (form === null) throw new Error('a field of the plan stands outside its form');
  return form;
}
