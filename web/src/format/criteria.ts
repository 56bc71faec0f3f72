/** Text of an acceptance criterion: its metric with the limits that the plan sets. */
import type { CriterionResult, Metric } from '../api/types';
import { metricLabel } from './metrics';
import { significant } from './numbers';

export function limitText(metrics: readonly Metric[], criterion: CriterionResult): string {
  const bounds = [
    typeof criterion.min === 'number' ? `at least ${significant(criterion.min, 6)}` : '',
    typeof criterion.max === 'number' ? `at most ${significant(criterion.max, 6)}` : '',
  ];
  return `${metricLabel(metrics, criterion.metric)} ${bounds.filter(Boolean).join(', ')}`;
}
