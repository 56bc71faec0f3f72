/**
 * HTML definition list of names and values, such as a host's kernel and driver: underscores become spaces, numbers
 * have six digits; FoldedFacts is such a list that opens on click.
 */
import { MISSING, significant } from '../format/numbers';

export type FactValue = string | number | boolean | null | undefined;

interface Props {
  facts: readonly (readonly [name: string, value: FactValue])[];
}

export function FactList({ facts }: Props) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name} style={{ display: 'contents' }}>
          <dt>{name.replaceAll('_', ' ')}</dt>
          <dd className="num">
            {typeof value === 'number' ? significant(value, 6) : String(value ?? MISSING)}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** FactList behind a summary that unfolds it. */
export function FoldedFacts({ summary, facts }: Props & { summary: string }) {
  return (
    <details>
      <summary className="muted" style={{ cursor: 'pointer', fontSize: 12 }}>
        {summary}
      </summary>
      <FactList facts={facts} />
    </details>
  );
}
