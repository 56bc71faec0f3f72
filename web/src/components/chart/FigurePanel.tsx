/**
 * Panel that requests and draws one figure of a trial, with title, caption and filter of chunks (transfers between
 * two ranks). TimeRangeBar shows and resets the time range of all figures over time on a page; the page's URL stores
 * it.
 */
import { Button, Group, Text, Title } from '@mantine/core';
import { useMemo } from 'react';

import { type TimeRange, useFigure } from '../../api/queries';
import type { Figure, FigureName } from '../../api/types';
import { simulatedTime } from '../../format/numbers';
import { Loaded } from '../QueryStates';
import { useSearch } from '../useSearch';
import { CaptionedChart } from './Chart';
import { ChunkFilterBar, chunkFilterOf } from './ChunkFilterBar';
import { searchOfRange, timeRangeOf, withTimeRange, zoomedTime } from './timeRange';

interface Props {
  trial: string;
  figure: FigureName;
  jobs: string[];
  /** Whether a figure of chunks has a filter of them. */
  filtered?: boolean;
}

/** A figure that `zooms` is requested again with more detail of the time range. */
export function FigurePanel({ trial, figure, jobs, filtered = true }: Props) {
  const { search, change } = useSearch();
  const range = figure.over_time ? timeRangeOf(search) : null;
  const detail = figure.zooms ? range : null;
  const query = useFigure(trial, figure.name, detail, figure.zooms ? chunkFilterOf(search) : {});
  return (
    <section className="panel" style={{ padding: '10px 14px' }} aria-busy={query.isFetching}>
      <Group justify="space-between" mb={4} mih={28}>
        <Title order={2}>{figure.title}</Title>
        {figure.zooms && filtered ? <ChunkFilterBar search={search} change={change} jobs={jobs} /> : null}
        {detail !== null && query.isFetching ? (
          <Text size="xs" className="muted" role="status">
            loading detail
          </Text>
        ) : null}
      </Group>
      <Loaded query={query} name={figure.title}>
        {(data) => (
          <RangedChart
            figure={data}
            range={figure.zooms ? data.range : range}
            title={figure.title}
            onRange={figure.over_time ? (next) => change(searchOfRange(next)) : undefined}
          />
        )}
      </Loaded>
    </section>
  );
}

interface RangedChartProps {
  figure: Figure;
  range: TimeRange | null;
  title: string;
  onRange: ((range: TimeRange | null) => void) | undefined;
}

function RangedChart({ figure, range, title, onRange }: RangedChartProps) {
  const { from_ps: from, to_ps: to } = range ?? {};
  const ranged = useMemo(
    () => withTimeRange(figure, from === undefined || to === undefined ? null : { from_ps: from, to_ps: to }),
    [figure, from, to],
  );
  const onZoom = onRange && ((axis: [number, number] | null) => onRange(zoomedTime(axis, figure)));
  return <CaptionedChart figure={ranged} label={title} onZoom={onZoom} />;
}

/** Nothing where the figures show the whole run. */
export function TimeRangeBar() {
  const { search, change } = useSearch();
  const range = timeRangeOf(search);
  if (range === null) return null;
  return (
    <Group gap="xs" className="panel time-range-bar">
      <Text size="xs" className="muted" role="status">
        {simulatedTime(range.from_ps)} to {simulatedTime(range.to_ps)}
      </Text>
      <Button variant="default" onClick={() => change(searchOfRange(null))}>
        Whole run
      </Button>
    </Group>
  );
}
