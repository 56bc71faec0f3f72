/**
 * React context of the plan's form: schema definitions, values, errors, and functions that set a field and show its
 * description.
 */
import { createContext, useContext } from 'react';

import type { Fault } from '../../../api/types';
import type { FieldPath } from '../planYaml';
import type { Definitions, Schema } from './schema';

/** State and actions of the form. */
export interface PlanForm {
  definitions: Definitions;
  /** Fields written in the plan, without defaults. */
  fields: Record<string, unknown>;
  errors: readonly Fault[];
  /** Field that is shown although it is not set. */
  revealed: string | null;
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
  if (form === null) throw new Error('a field of the plan is outside its form');
  return form;
}
