import { SimpleGrid } from '@mantine/core';

import { useFigures } from '../../api/queries';
import { FigurePanel } from '../../components/chart/FigurePanel';
import { StretchBar } from '../../components/chart/TimeRangeBar';

/** What the record of a finished trial shows over its time; nothing of one whose plan samples no port. */
export function RecordedCharts({ trial }: { trial: string }) {
  const figures = useFigures(trial).data?.figures ?? [];
  const overTime = figures.filter(({ section }) => section === 'series');
  return (
    <>
      <StretchBar />
      <SimpleGrid cols={2} spacing={12}>
        {overTime.map((figure) => (
          <FigurePanel key={figure.name} trial={trial} figure={figure} jobs={[]} />
        ))}
      </SimpleGrid>
    </>
  );
}
