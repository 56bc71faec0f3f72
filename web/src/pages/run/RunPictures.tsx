/**
 * Pictures of a run: curves over sizes or swept fields with one panel for each job, maps of two dimensions, ratios of
 * variants, jobs beside others and alone; the timeline of a run with a single trial.
 */
import { SimpleGrid } from '@mantine/core';

import { useFigures, useMetrics } from '../../api/queries';
import type { FigureName, ResultsOfRun } from '../../api/types';
import { FigurePanel } from '../../components/chart/FigurePanel';
import { ResultMap } from './ResultMap';
import { figuresOfRun } from './runFigures';

export function RunPictures({ results }: { results: ResultsOfRun }) {
  const { focus, maps } = results;
  const metric = useMetrics().find(({ name }) => name === results.metric);
  const figures = useFigures(focus ?? '', focus !== null).data?.figures ?? [];
  const { curve, others } = figuresOfRun(results, figures);
  if (focus === null) return null;
  // Of several iterations a figure of one trial is that of the worst result.
  const isOneOfSeveral = results.results.some(({ iteration }) => iteration > 0);
  const about = isOneOfSeveral && results.worst !== null ? `, ${results.worst.label}` : '';
  const titled = (figure: FigureName) =>
    figure.of_run ? figure : { ...figure, title: `${figure.title}${about}` };
  const panel = (figure: FigureName) => (
    <FigurePanel key={figure.name} trial={focus} figure={titled(figure)} jobs={[]} filtered={false} />
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
