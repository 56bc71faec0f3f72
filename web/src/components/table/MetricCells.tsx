/** Parts of tables of metrics: a head with several columns per metric, and cells with a value of six digits. */
import type { ReactNode } from 'react';

import { useMetrics } from '../../api/queries';
import { metricLabel } from '../../format/metrics';
import { MISSING, significant } from '../../format/numbers';

interface HeadProps {
  names: readonly string[];
  /** Titles of the columns below each metric. */
  parts: readonly string[];
  /** Headings of the columns before the metrics; they span both rows. */
  children: ReactNode;
}

export function MetricHead({ names, parts, children }: HeadProps) {
  const metrics = useMetrics();
  return (
    <thead>
      <tr>
        {children}
        {names.map((name) => (
          <th key={name} colSpan={parts.length} className="right" title={name}>
            {metricLabel(metrics, name)}
          </th>
        ))}
      </tr>
      <tr>
        {names.flatMap((name) =>
          parts.map((title) => (
            <th key={`${name} ${title}`} className="right muted" style={{ fontWeight: 400 }}>
              {title}
            </th>
          )),
        )}
      </tr>
    </thead>
  );
}

/** Number to six digits; the tooltip has all digits. */
export function MetricValue({ value }: { value: number | null | undefined }) {
  if (value === null || value === undefined) return <span className="muted">{MISSING}</span>;
  return <span title={String(value)}>{significant(value, 6)}</span>;
}

/** Cell of a table, aligned to the right, with the value of a metric. */
export function MetricCell({ value, title }: { value: number | null | undefined; title?: string }) {
  return (
    <td className="right" title={title}>
      <MetricValue value={value} />
    </td>
  );
}
