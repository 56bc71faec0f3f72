/**
 * Live charts of the trial that a run executes: goodput, deepest egress queue of all switches, and ECN marks and PFC
 * pauses once there are any; for a trial on hosts only the goodput.
 */
import { Paper, SimpleGrid, Text, Title } from '@mantine/core';
import { useMemo } from 'react';

import type { Live, Point } from '../../api/events';
import { CATEGORIES } from '../../app/palette';
import { Chart } from '../../components/chart/Chart';
import { liveFigure } from './liveFigure';

interface LiveProps {
  live: Live;
  /** A trial on hosts has only the goodput, over the time since its start. */
  isMeasured: boolean;
}

export function LiveCharts({ live, isMeasured }: LiveProps) {
  if (isMeasured) {
    return (
      <LiveChart
        title="Goodput"
        points={live.goodput}
        axis="goodput (GB/s)"
        colour={CATEGORIES[0]}
        time="time since its start"
      />
    );
  }
  return <SimulatedCharts live={live} />;
}

function SimulatedCharts({ live }: { live: Live }) {
  const sampled = live.goodput.length === 0 || live.queue.length > 0;
  return (
    <SimpleGrid cols={2} spacing={12}>
      <LiveChart title="Goodput" points={live.goodput} axis="goodput (GB/s)" colour={CATEGORIES[0]} />
      <LiveChart
        title="Deepest egress queue"
        points={live.queue}
        axis="deepest queue"
        colour={CATEGORIES[1]}
        isBytes
        hint={sampled ? undefined : 'The plan samples no port.'}
      />
      {hasEvents(live.marked) ? (
        <LiveChart
          title="ECN marks"
          points={live.marked}
          axis="marked frames per us"
          colour={CATEGORIES[2]}
        />
      ) : null}
      {hasEvents(live.paused) ? (
        <LiveChart title="Pauses" points={live.paused} axis="paused priorities" colour={CATEGORIES[3]} />
      ) : null}
    </SimpleGrid>
  );
}

function hasEvents(points: Point[]): boolean {
  return points.some(([, value]) => value > 0);
}

interface Props {
  title: string;
  points: Point[];
  axis: string;
  colour: string;
  isBytes?: boolean;
  time?: string;
  hint?: string | undefined;
}

function LiveChart({ title, points, axis, colour, isBytes = false, time, hint = 'No sample yet.' }: Props) {
  const figure = useMemo(
    () => liveFigure(points, { title: axis, time: time ?? 'simulated time', isBytes }, colour),
    [points, axis, time, colour, isBytes],
  );
  return (
    <Paper withBorder p="sm">
      <Title order={2}>{title}</Title>
      {points.length === 0 ? (
        <Text size="sm" className="muted" h={230} pt="md">
          {hint}
        </Text>
      ) : (
        <Chart figure={figure} label={title} />
      )}
    </Paper>
  );
}
