import { Group, Select, Title } from '@mantine/core';

import { useMetricFigure, useMetrics } from '../../api/queries';
import { metricLabel } from '../../format/metrics';
import { CaptionedChart } from './CaptionedChart';
import { Loaded } from '../Loaded';

interface Props {
  /** Where the server draws it, and what of. */
  about: readonly [resource: string, asked: Record<string, string | readonly string[]>];
  /** What it is called by a reader who does not see it. */
  label: string;
  /** The metric that was chosen; the server chooses if none was. */
  metric: string | null;
  onMetric: (metric: string) => void;
}

/** A metric against data size, as the server draws it, and a choice of the metric. */
export function MetricFigure({ about: [resource, asked], label, metric, onMetric }: Props) {
  const metrics = useMetrics();
  const query = useMetricFigure(resource, asked, metric);
  return (
    <Loaded query={query} what={label}>
      {(drawn) => (
        <div aria-busy={query.isFetching}>
          <Group justify="space-between" mb={4}>
            <Title order={3} size="sm">
              {drawn.title}
            </Title>
            <Select
              aria-label={`Metric, ${label}`}
              w={280}
              searchable
              allowDeselect={false}
              data={drawn.metrics.map((name) => ({ value: name, label: metricLabel(metrics, name) }))}
              value={drawn.metric}
              onChange={(chosen) => chosen !== null && onMetric(chosen)}
            />
          </Group>
          <CaptionedChart figure={drawn} label={`${drawn.title}, ${label}`} />
        </div>
      )}
    </Loaded>
  );
}
