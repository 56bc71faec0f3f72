import { Paper, Text, Title } from '@mantine/core';
import { useMemo } from 'react';

import type { Live } from '../../api/events';
import type { Figure } from '../../api/types';
import { Chart } from '../../components/Chart';
import { liveFigure } from './figures';

/** Goodput and the deepest queue of the trial at work, over its simulated time. */
export function LiveCharts({ live }: { live: Live }) {
  const goodput = useMemo(() => liveFigure(live.goodput, 'goodput (GB/s)', '#0072B2', 1), [live.goodput]);
  const queue = useMemo(() => liveFigure(live.queue, 'deepest queue (KB)', '#D55E00', 1024), [live.queue]);
  return (
    <div style={{ display: 'grid', gridTemplateColumns: 'repeat(2, minmax(0, 1fr))', gap: 12 }}>
      <LiveChart title="Goodput" figure={goodput} isEmpty={live.goodput.length === 0} hint="No sample yet." />
      <LiveChart
        title="Deepest egress queue"
        figure={queue}
        isEmpty={live.queue.length === 0}
        hint="Samples of queues come when the trial ends."
      />
    </div>
  );
}

interface Props {
  title: string;
  figure: Figure;
  isEmpty: boolean;
  hint: string;
}

function LiveChart({ title, figure, isEmpty, hint }: Props) {
  return (
    <Paper withBorder p="sm">
      <Title order={2}>{title}</Title>
      {isEmpty ? (
        <Text size="sm" className="muted" h={230} pt="md">
          {hint}
        </Text>
      ) : (
        <Chart figure={figure} label={title} />
      )}
    </Paper>
  );
}
