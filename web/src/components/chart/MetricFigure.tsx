/** Chart of a metric against data size, made by the server, with a menu that selects the metric. */
import { Group, Select, Title } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';

import { useMetrics } from '../../api/queries';
import type { MetricFigure as Figure, MetricName } from '../../api/types';
import { metricLabel } from '../../format/metrics';
import { CaptionedChart } from './Chart';
import { Loaded } from '../QueryStates';

interface Props {
  query: UseQueryResult<Figure, unknown>;
  /** Name of the figure for screen readers. */
  label: string;
  onMetric: (metric: MetricName) => void;
}

export function MetricFigure({ query, label, onMetric }: Props) {
  const metrics = useMetrics();
  return (
    <Loaded query={query} name={label}>
      {(figure) => (
        <div aria-busy={query.isFetching}>
          <Group justify="space-between" mb={4}>
            <Title order={3} size="sm">
              {figure.title}
            </Title>
            <Select
              aria-label={`Metric, ${label}`}
              w={280}
              searchable
              allowDeselect={false}
              data={figure.metrics.map((name) => ({ value: name, label: metricLabel(metrics, name) }))}
              value={figure.metric}
              onChange={(chosen) => chosen !== null && onMetric(chosen as MetricName)}
            />
          </Group>
          <CaptionedChart figure={figure} label={`${figure.title}, ${label}`} />
        </div>
      )}
    </Loaded>
  );
}
