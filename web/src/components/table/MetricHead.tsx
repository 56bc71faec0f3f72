import type { ReactNode } from 'react';

import { useMetrics } from '../../api/queries';
import { metricLabel } from '../../format/metrics';

interface Props {
  names: readonly string[];
  /** What stands below each metric, one column each. */
  parts: readonly string[];
  /** Headings of the columns before the metrics; they span both rows. */
  children: ReactNode;
}

/** The head of a table in which each metric has several columns. */
export function MetricHead({ names, parts, children }: Props) {
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
