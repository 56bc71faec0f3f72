import { Paper, Text, Title } from '@mantine/core';
import { useMemo } from 'react';

import type { Figure, Sample } from '../../api/types';
import { Chart } from '../../components/Chart';
import { liveFigure } from './figures';

/** Goodput and the deepest queue over simulated time, as far as the trial at work has come. */
export function LiveCharts({ samples }: { samples: Sample[] }) {
  const goodput = useMemo(
    () => liveFigure(samples, 'goodput_gbps', 'goodput (Gb/s)', '#0072B2', 1),
    [samples],
  );
  const queue = useMemo(
    () => liveFigure(samples, 'queue_bytes_max', 'queued (KB)', '#D55E00', 1024),
    [samples],
  );
  return (
    <div style={{ display: 'grid', gridTemplateColumns: 'repeat(2, minmax(0, 1fr))', gap: 12 }}>
      <LiveChart title="Goodput of the trial at work" figure={goodput} empty={samples.length === 0} />
      <LiveChart title="Deepest queue" figure={queue} empty={samples.length === 0} />
    </div>
  );
}

function LiveChart({ title, figure, empty }: { title: string; figure: Figure; empty: boolean }) {
  return (
    <Paper withBorder p="sm">
      <Title order={2}>{title}</Title>
      {empty ? (
        <Text size="sm" className="muted" h={230} pt="md">
          No sample yet.
        </Text>
      ) : (
        <Chart figure={figure} label={title} />
      )}
    </Paper>
  );
}
