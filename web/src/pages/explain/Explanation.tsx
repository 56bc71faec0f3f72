/**
 * Answer to pasted results: verdict, measured and expected bandwidth, next test, chart with the expected band, causes
 * with evidence, table of results, notes, and the kinds of the files.
 */
import { Badge, Group, List, Paper, SimpleGrid, Text, Title } from '@mantine/core';

import type { Explained, LikelyCause } from '../../api/types';
import { AnswerTile } from '../../components/AnswerTile';
import { CaptionedChart } from '../../components/chart/Chart';
import { CodeText } from '../../components/CodeText';
import { NoteList } from '../../components/NoteList';
import { DataTable, Scrolled, type TableColumn } from '../../components/table/DataTable';
import { causeTitle } from '../../format/causes';
import { sentence } from '../../format/jobs';
import { withFormLabels } from '../imports/importFile';
import { EXPLAIN_LABELS } from './given';
import { MeasuredTable } from './MeasuredTable';

export function Explanation({ explained }: { explained: Explained }) {
  const { figure, causes, table, inputs, notes, configuration_notes: differences } = explained;
  return (
    <>
      <Verdict explained={explained} />
      {figure === null ? null : (
        <section className="panel" style={{ padding: '10px 14px' }} aria-label="Measured and expected">
          <CaptionedChart figure={figure} label="Measured and expected bus bandwidth" />
        </section>
      )}
      {causes.length === 0 ? null : <Causes causes={causes} />}
      {table === null ? null : <MeasuredTable table={table} />}
      <section className="panel" style={{ padding: '10px 14px' }} aria-label="Basis">
        <Title order={2}>Basis</Title>
        {inputs.map(({ name, kind, about }) => (
          <Group key={name} gap={8} my={4} wrap="nowrap" align="baseline">
            <Badge variant="light" color="gray" style={{ flexShrink: 0 }}>
              {kind}
            </Badge>
            <Text size="sm">
              {name}
              {about === '' ? '' : `: ${about}`}
            </Text>
          </Group>
        ))}
        <NoteList label="Notes" notes={notes.map((note) => withFormLabels(note, EXPLAIN_LABELS))} />
        <NoteList label="Differences from the configuration" notes={differences} />
      </section>
    </>
  );
}

function Verdict({ explained }: { explained: Explained }) {
  const { verdict, tone, answers, causes, title } = explained;
  const hasLimit = explained.expected.length > 0 || explained.target_gb_per_s !== null;
  const [first] = causes;
  const headline = first === undefined ? verdict : `${causeTitle(first.cause)}: ${first.sentence}`;
  return (
    <Paper withBorder p="md" component="section" aria-label="Answer">
      <Text size="xs" className="muted">
        {title}
      </Text>
      <Title order={2} fz="lg" className={tone === 'bad' ? 'worse' : tone === 'good' ? 'better' : undefined}>
        {sentence(headline)}{' '}
        {first === undefined ? null : (
          <Badge variant="light" color="gray">
            {first.confidence}
          </Badge>
        )}
      </Title>
      <SimpleGrid cols={{ base: 1, sm: Math.max(answers.length, 1) }} spacing="sm" mt="sm">
        {answers.map(({ question, text, about }) => (
          <AnswerTile key={question} title={question} value={text} about={about} />
        ))}
      </SimpleGrid>
      {hasLimit || explained.table === null ? null : (
        <Text size="sm" mt="sm">
          What to expect is not known: choose the fabric, or give rate and number of the adapters, and explain
          again.
        </Text>
      )}
      {first === undefined ? null : (
        <Text size="sm" mt="sm">
          <b>Next: </b>
          <CodeText text={first.to_tell} />
        </Text>
      )}
    </Paper>
  );
}

const CAUSE_COLUMNS: TableColumn<LikelyCause>[] = [
  {
    title: 'Cause',
    isHeading: true,
    width: 130,
    cell: ({ cause, confidence }) => (
      <>
        <Text fw={600} size="sm">
          {causeTitle(cause)}
        </Text>
        <Text size="xs" className="muted">
          {confidence}
        </Text>
      </>
    ),
  },
  {
    title: 'Why',
    className: 'wrapped',
    cell: ({ sentence: why, evidence }) => (
      <>
        <CodeText text={sentence(why)} />
        <List size="xs" spacing={1} mt={3}>
          {evidence.map((line) => (
            <List.Item key={line} style={{ overflowWrap: 'anywhere' }}>
              <CodeText text={line} />
            </List.Item>
          ))}
        </List>
      </>
    ),
  },
  { title: 'What tells it apart', className: 'wrapped', cell: ({ to_tell }) => <CodeText text={to_tell} /> },
];

function Causes({ causes }: { causes: readonly LikelyCause[] }) {
  return (
    <section className="panel" aria-label="Causes">
      <Title order={2} p="xs">
        Causes, the likeliest first
      </Title>
      <Scrolled label="Causes">
        <DataTable label="Causes" columns={CAUSE_COLUMNS} rows={causes} rowKey={({ cause }) => cause} top />
      </Scrolled>
    </section>
  );
}
