/**
 * Table of all metrics of a job, or of the whole fabric, in several trials, with the ratio to the first trial, coloured if better or worse.
 */
import { Link } from 'react-router';

import { useMetrics } from '../../api/queries';
import type { ComparedMetric, ComparedTrial } from '../../api/types';
import { TablePanel } from '../../components/table/DataTable';
import { MetricCell } from '../../components/table/MetricCells';
import { casePrefix } from '../../format/sweep';
import { metricLabel } from '../../format/metrics';
import { dataSize } from '../../format/numbers';
import { differs, type Group, ratioText } from './groups';

export function ComparedTable({ group, onlyDiffering }: { group: Group; onlyDiffering: boolean }) {
  const metrics = useMetrics();
  const shown = group.metrics.filter(
    (name) => !onlyDiffering || group.others.some((other) => differs(other.metrics[name])),
  );
  const name = group.isFabric ? 'Whole fabric, all jobs together' : `Job ${group.first.job}`;
  return (
    <TablePanel title={`${name}, ${dataSize(group.first.data_size_bytes)}`}>
      <table className="plain" aria-label={group.isFabric ? name : `Metrics of job ${group.first.job}`}>
        <thead>
          <tr>
            <th scope="col">Metric</th>
            <HeadCell trial={group.first} />
            {group.others.map((other) => (
              <HeadCell key={`${other.second.id} ${other.second.job}`} trial={other.second} ratio />
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((name) => (
            <tr key={name}>
              <th scope="row" style={{ fontWeight: 400 }} title={name}>
                {metricLabel(metrics, name)}
              </th>
              <MetricCell value={group.others[0]?.metrics[name]?.first} />
              {group.others.map((other) => (
                <PairCells key={`${other.second.id} ${other.second.job}`} metric={other.metrics[name]} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TablePanel>
  );
}

function HeadCell({ trial, ratio = false }: { trial: ComparedTrial; ratio?: boolean }) {
  return (
    <th scope="col" className="right" colSpan={ratio ? 2 : 1}>
      <Link to={`/trials/${trial.id}`}>{trial.plan}</Link>
      <div className="muted" style={{ fontWeight: 400 }}>
        {casePrefix(trial)}
        {dataSize(trial.data_size_bytes)}
        {trial.iteration > 0 ? `, #${trial.iteration}` : ''}
      </div>
    </th>
  );
}

/** Value of the second trial and its ratio to the first, coloured if it is better or worse. */
export function PairCells({ metric }: { metric: ComparedMetric | undefined }) {
  const verdict = differs(metric) ? metric?.verdict : null;
  const style = verdict === 'better' || verdict === 'worse' ? verdict : 'muted';
  return (
    <>
      <MetricCell value={metric?.second} />
      <td className={`right ${style}`} title={verdict ?? undefined} style={{ width: 84 }}>
        {ratioText(metric?.ratio ?? null)}
      </td>
    </>
  );
}
