import { Paper, Title } from '@mantine/core';

import type { Facts, Measured } from '../../api/types';
import { MISSING, significant } from '../../format/numbers';

/** Where a measured result comes from, and every other column of its row. */
export function MeasuredFacts({ measured }: { measured: Measured }) {
  const source: Facts = {
    benchmark: `${measured.benchmark}, ${measured.format} ${measured.version}`.trim(),
    command: measured.command || null,
    file: `${measured.file}, line ${measured.line}`,
    ...measured.facts,
  };
  return (
    <div style={{ display: 'grid', gridTemplateColumns: 'minmax(0, 2fr) minmax(0, 1fr)', gap: 12 }}>
      <FactsBox title="Measured" facts={source} />
      <FactsBox title="As printed" facts={measured.printed.values} />
    </div>
  );
}

function FactsBox({ title, facts }: { title: string; facts: Facts }) {
  return (
    <Paper withBorder p="sm">
      <Title order={2} mb={6}>
        {title}
      </Title>
      <dl className="facts">
        {Object.entries(facts).map(([name, value]) => (
          <Fact key={name} name={name} value={value} />
        ))}
      </dl>
    </Paper>
  );
}

function Fact({ name, value }: { name: string; value: Facts[string] }) {
  return (
    <>
      <dt>{name.replaceAll('_', ' ')}</dt>
      <dd className="num">{typeof value === 'number' ? significant(value, 6) : String(value ?? MISSING)}</dd>
    </>
  );
}
