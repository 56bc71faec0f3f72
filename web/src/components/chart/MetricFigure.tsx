/** Chart of a metric against data size, made by the server, with a menu that selects the metric. */
import { Group, Select, Title } from '@mantine/core';

import { useMetricFigure, useMetrics } from '../../api/queries';
import { metricLabel } from '../../format/metrics';
import { CaptionedChart } from './Chart';
import { Loaded } from '../QueryStates';

interface Props {
  /** Resource of the HTTP API that draws the figure, and its query parameters. */
  resource: string;
  parameters: Record<string, string | readonly string[]>;
  /** Name of the figure for screen readers. */
  label: string;
  /** Selected metric; the server selects one if null. */
  metric: string | null;
  onMetric: (metric: string) => void;
}

export function MetricFigure({ resource, parameters, label, metric, onMetric }: Props) {
  const metrics = useMetrics();
  const query = useMetricFigure(resource, parameters, metric);
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
              onChange={(chosen) => chosen !== null && onMetric(chosen)}
            />
          </Group>
          <CaptionedChart figure={figure} label={`${figure.title}, ${label}`} />
        </div>
      )}
    </Loaded>
  );
}
