import { useFigures } from '../../api/queries';
import type { TrialDetail } from '../../api/types';
import { FigurePanel } from '../../components/chart/FigurePanel';
import { Loaded } from '../../components/Loaded';
import { Empty } from '../../components/QueryStates';
import { StretchBar } from '../../components/chart/TimeRangeBar';
import { draws, jobsOf, type View, VIEW_OF_SECTION } from './views';

/** The figures of a view, in the order of the report. */
export function FiguresView({ trial, view }: { trial: TrialDetail; view: View }) {
  const figures = useFigures(trial.id);
  if (!draws(view.key)) return null;
  return (
    <Loaded query={figures} what="Figures">
      {({ figures: all }) => {
        const shown = all.filter((figure) => VIEW_OF_SECTION[figure.section] === view.key);
        if (shown.length === 0 && view.tables.length === 0 && view.key !== 'summary') {
          return <Empty title="Nothing to draw">The record of this trial has nothing for this view.</Empty>;
        }
        return (
          <>
            {shown.some(({ over_time }) => over_time) ? <StretchBar /> : null}
            {shown.map((figure) => (
              <FigurePanel
                key={figure.name}
                trial={trial.id}
                figure={figure}
                jobs={jobsOf(trial).map(({ job }) => job)}
              />
            ))}
          </>
        );
      }}
    </Loaded>
  );
}
