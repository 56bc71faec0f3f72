import { Button, Group, Text, Title } from '@mantine/core';
import { useMemo } from 'react';

import { useFigure } from '../api/queries';
import type { Figure, FigureName, Stretch } from '../api/types';
import { simulatedTime } from '../format/numbers';
import { CaptionedChart } from './CaptionedChart';
import { ChunkFilterBar, chunkFilterOf } from './ChunkFilterBar';
import { Loaded } from './Loaded';
import { useSearch } from './useSearch';
import { stretchOf, withRange, zoomed } from './zoom';

interface Props {
  trial: string;
  figure: FigureName;
  jobs: string[];
}

/** One figure of a trial with its title and caption; zooming into time asks the server for more detail. */
export function FigurePanel({ trial, figure, jobs }: Props) {
  const { search, change } = useSearch();
  const stretch = figure.zooms ? stretchOf(search) : null;
  const query = useFigure(trial, figure.name, stretch, figure.zooms ? chunkFilterOf(search) : {});
  return (
    <section className="panel" style={{ padding: '10px 14px' }} aria-busy={query.isFetching}>
      <Group justify="space-between" mb={4} mih={28}>
        <Title order={2}>{figure.title}</Title>
        {figure.zooms ? <ChunkFilterBar search={search} change={change} jobs={jobs} /> : null}
        {stretch !== null ? (
          <Group gap="xs">
            <Text size="xs" className="muted" role="status">
              {simulatedTime(stretch.from_ps)} to {simulatedTime(stretch.to_ps)}
              {query.isFetching ? ', loading detail' : ''}
            </Text>
            <Button variant="default" onClick={() => change({ from: null, to: null })}>
              Whole run
            </Button>
          </Group>
        ) : null}
      </Group>
      <Loaded query={query} what={figure.title}>
        {(drawn) => (
          <Drawn
            drawn={drawn}
            title={figure.title}
            onStretch={
              figure.zooms
                ? (next) =>
                    change({
                      from: next && String(next.from_ps),
                      to: next && String(next.to_ps),
                    })
                : undefined
            }
          />
        )}
      </Loaded>
    </section>
  );
}

interface DrawnProps {
  drawn: Figure;
  title: string;
  onStretch: ((stretch: Stretch | null) => void) | undefined;
}

function Drawn({ drawn, title, onStretch }: DrawnProps) {
  // A zoom moves the axis at once; the figure is drawn again when the server has sent what that brings out.
  const figure = useMemo(() => withRange(drawn, drawn.stretch ?? null), [drawn]);
  const factor = drawn.unit_ps ?? null;
  const zoomable = onStretch !== undefined && factor !== null;
  return (
    <CaptionedChart
      figure={figure}
      label={title}
      {...(zoomable ? { onZoom: (range: [number, number] | null) => onStretch(zoomed(range, factor)) } : {})}
    />
  );
}
