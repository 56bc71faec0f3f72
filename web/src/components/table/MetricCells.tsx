import { MISSING, significant } from '../../format/numbers';

/** A number to six digits; its tooltip and what is copied have all of them. */
export function MetricValue({ value }: { value: number | null }) {
  if (value === null) return <span className="muted">{MISSING}</span>;
  return <span title={String(value)}>{significant(value, 6)}</span>;
}
