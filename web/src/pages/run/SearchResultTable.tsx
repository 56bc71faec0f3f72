import { Title } from '@mantine/core';

import type { SearchedCase } from '../../api/types';
import { caseText } from '../../format/sweep';
import { dataSize } from '../../format/numbers';

/** What the search of a plan has found: a line for each variant, size and combination of swept values. */
export function SearchedTable({ found }: { found: SearchedCase[] }) {
  const [first] = found;
  if (first === undefined) return null;
  const hasCases = found.some((each) => caseText(each) !== '');
  const hasSizes = found.some((each) => each.data_size_bytes !== null);
  return (
    <section className="panel" style={{ overflowX: 'auto' }}>
      <Title order={2} p="xs">
        The {first.find} {first.field} for which the criteria hold
      </Title>
      <table className="plain" aria-label="What the search found">
        <thead>
          <tr>
            {hasCases ? <th>Variant, swept values</th> : null}
            {hasSizes ? <th className="right">Data size</th> : null}
            <th className="right">Holds</th>
            <th className="right">Does not</th>
            <th className="right">Values tried</th>
          </tr>
        </thead>
        <tbody>
          {found.map((each, index) => (
            <tr key={index}>
              {hasCases ? <td>{caseText(each) || 'base'}</td> : null}
              {hasSizes ? (
                <td className="right">
                  {each.data_size_bytes === null ? '–' : dataSize(each.data_size_bytes)}
                </td>
              ) : null}
              <td className={each.holds === null ? 'right worse' : 'right'}>{each.holds ?? 'none'}</td>
              <td className="right">{each.fails ?? '–'}</td>
              <td className="right">{each.tried}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
