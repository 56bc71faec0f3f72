import type { RunState } from './types';

/** States that a run leaves only when it is resumed. */
export const FINAL_STATES: readonly RunState[] = ['complete', 'cancelled', 'failed', 'interrupted'];
