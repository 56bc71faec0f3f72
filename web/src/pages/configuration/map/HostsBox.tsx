/** Hosts on the map of a fabric: a mark for each, or a bar with a part for each job where they are many. */
import { colourOf } from './colours';
import { HostMark } from './HostMark';
import { hostNumbers, hostsByJob } from './hosts';
import type { PlacedBox } from './layout';

interface Props {
  placed: PlacedBox;
  jobs: Map<number, number[]>;
  /** Number of a host to mark. */
  host: number | null;
  hasText: boolean;
}

const RADIUS = 4.8;

export function HostsBox({ placed, jobs, host, hasText }: Props) {
  const { x, y, text, marks } = placed;
  return (
    <>
      {marks.length > 0 ? (
        marks.map((mark) => (
          <g key={mark.host} data-host={mark.host}>
            {mark.host === host ? (
              <circle cx={mark.x} cy={y} r={RADIUS + 3} fill="none" stroke="var(--worse)" strokeWidth="2.5" />
            ) : null}
            <HostMark x={mark.x} y={y} radius={RADIUS} colours={(jobs.get(mark.host) ?? []).map(colourOf)} />
          </g>
        ))
      ) : (
        <JobsBar placed={placed} jobs={jobs} />
      )}
      {hasText ? (
        <text x={x} y={y + 21} textAnchor="middle" fontSize="9.5" fill="var(--muted)">
          {text}
        </text>
      ) : null}
    </>
  );
}

function JobsBar({ placed: { x, y, width, height, box }, jobs }: Pick<Props, 'placed' | 'jobs'>) {
  const parts = hostsByJob(hostNumbers(box), jobs);
  const total = parts.reduce((sum, { hosts }) => sum + hosts, 0);
  const starts = parts.map((_, index) => parts.slice(0, index).reduce((sum, { hosts }) => sum + hosts, 0));
  return parts.map(({ job, hosts }, index) => (
    <rect
      key={job}
      x={x - width / 2 + (width * (starts[index] ?? 0)) / total}
      y={y - height / 2}
      width={(width * hosts) / total}
      height={height}
      fill={job < 0 ? 'var(--wire)' : colourOf(job)}
    />
  ));
}
