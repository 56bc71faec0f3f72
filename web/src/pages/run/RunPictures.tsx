/**
 * Pictures of a run: curves over sizes or swept fields with one panel for each job, maps of two dimensions, ratios of
 * variants, jobs beside others and alone; the timeline of a run with a single trial.
 */
import { SimpleGrid } from '@mantine/core';

import { useFigures, useMetrics } from '../../api/queries';
import type { FigureName, ResultsOfRun } from '../../api/types';
import { FigurePanel } from '../../components/chart/FigurePanel';
import { ResultMap } from './ResultMap';

/** Figures of a run in the order of the page; the first of each list that the run has. */
const CURVES = ['curves', 'bandwidth'];
const OTHERS = ['ratio', 'tenant-busbw', 'kept-share'];

export function RunPictures({ results }: { results: ResultsOfRun }) {
  const { focus, maps } = results;
  const metric = useMetrics().find(({ name }) => name === results.metric);
  const figures = useFigures(focus ?? '', focus !== null).data?.figures ?? [];
  const find = (name: string) => figures.find((figure) => figure.name === name);
  // Of several iterations the timeline is that of the worst result.
  const isOneOfSeveral = results.results.some(({ iteration }) => iteration > 0);
  const about = isOneOfSeveral && results.worst !== null ? `, ${results.worst.label}` : '';
  const single = results.dimensions.every((name) => name === 'job');
  const timeline = find('timeline');
  const titled = timeline && { ...timeline, title: `${timeline.title}${about}` };
  const [curve] = single ? [titled] : CURVES.map(find).filter((figure) => figure !== undefined);
  // Of several jobs the figure of ratios has the first.
  const names = results.dimensions.includes('job') ? OTHERS.filter((name) => name !== 'ratio') : OTHERS;
  const others = single ? [] : names.map(find).filter((figure) => figure !== undefined);
  if (focus === null) return null;
  const panel = (figure: FigureName) => (
    <FigurePanel key={figure.name} trial={focus} figure={figure} jobs={[]} filtered={false} />
  );
  return (
    <>
      <div className={maps.length > 0 ? 'run-pictures' : undefined}>
        {curve === undefined ? null : panel(curve)}
        {maps.length > 0 && metric !== undefined ? (
          <section className="panel" style={{ padding: '10px 14px' }}>
            <div className="heat-maps">
              {maps.map((map) => (
                <ResultMap key={map.about} map={map} metric={metric} />
              ))}
            </div>
          </section>
        ) : null}
      </div>
      {others.length > 0 ? (
        <SimpleGrid cols={{ base: 1, lg: Math.min(2, others.length) }}>{others.map(panel)}</SimpleGrid>
      ) : null}
    </>
  );
}
