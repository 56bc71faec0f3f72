import { Group, Text, Title } from '@mantine/core';
import { useMemo } from 'react';

import { useFigure } from '../../api/queries';
import type { Figure, FigureName, Stretch } from '../../api/types';
import { CaptionedChart } from './CaptionedChart';
import { ChunkFilterBar, chunkFilterOf } from './ChunkFilterBar';
import { Loaded } from '../Loaded';
import { useSearch } from '../useSearch';
import { addressOf, stretchOf, withRange, zoomed } from './timeRange';

interface Props {
  trial: string;
  figure: FigureName;
  jobs: string[];
}

/**
 * One figure of a trial with its title and caption. All figures over time show the same stretch of it; some ask the
 * server for more detail of that.
 */
export function FigurePanel({ trial, figure, jobs }: Props) {
  const { search, change } = useSearch();
  const stretch = figure.over_time ? stretchOf(search) : null;
  const asked = figure.zooms ? stretch : null;
  const query = useFigure(trial, figure.name, asked, figure.zooms ? chunkFilterOf(search) : {});
  return (
    <section className="panel" style={{ padding: '10px 14px' }} aria-busy={query.isFetching}>
      <Group justify="space-between" mb={4} mih={28}>
        <Title order={2}>{figure.title}</Title>
        {figure.zooms ? <ChunkFilterBar search={search} change={change} jobs={jobs} /> : null}
        {asked !== null && query.isFetching ? (
          <Text size="xs" className="muted" role="status">
            loading detail
          </Text>
        ) : null}
      </Group>
      <Loaded query={query} what={figure.title}>
        {(drawn) => (
          <Drawn
            drawn={drawn}
            stretch={figure.zooms ? (drawn.stretch ?? null) : stretch}
            title={figure.title}
            onStretch={figure.over_time ? (next) => change(addressOf(next)) : undefined}
          />
        )}
      </Loaded>
    </section>
  );
}

interface DrawnProps {
  drawn: Figure;
  stretch: Stretch | null;
  title: string;
  onStretch: ((stretch: Stretch | null) => void) | undefined;
}

function Drawn({ drawn, stretch, title, onStretch }: DrawnProps) {
  const { from_ps: from, to_ps: to } = stretch ?? {};
  // A figure that zooms moves its axis at once; it is drawn again when the server has sent what that brings out.
  const figure = useMemo(
    () => withRange(drawn, from === undefined || to === undefined ? null : { from_ps: from, to_ps: to }),
    [drawn, from, to],
  );
  return (
    <CaptionedChart
      figure={figure}
      label={title}
      {...(onStretch ? { onZoom: (range: [number, number] | null) => onStretch(zoomed(range, drawn)) } : {})}
    />
  );
}
