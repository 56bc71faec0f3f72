/**
 * Answer of a run: verdict in a sentence, further sentences, best and worst result, and the first cause of the worst
 * with its remedies.
 */
import { Box, Paper, Text } from '@mantine/core';
import { Link } from 'react-router';

import type { Labelled, ResultsOfRun } from '../../api/types';
import { AnswerTile } from '../../components/AnswerTile';
import { CauseBox } from '../../components/CauseBox';
import { sentence } from '../../format/jobs';

export function RunAnswer({ results }: { results: ResultsOfRun }) {
  const { headline, sentences, best, worst, findings, total } = results;
  const [first] = findings;
  const single = best === null && total === 1;
  return (
    <Paper withBorder p="md">
      <Text fw={600} fz="lg" component="p" m={0}>
        {sentence(headline)}
      </Text>
      {sentences.map((text) => (
        <Text key={text} size="sm" mt={4}>
          {text}
        </Text>
      ))}
      <Box mt="sm" className="answer">
        {worst === null ? null : <ResultTile title={single ? 'Result' : 'Worst'} result={worst} />}
        {best === null ? null : <ResultTile title="Best" result={best} />}
        {worst === null || first === undefined ? null : (
          <CauseBox
            trial={worst.trial}
            finding={first}
            title={`Likely cause of the worst (${worst.label})`}
          />
        )}
      </Box>
    </Paper>
  );
}

function ResultTile({ title, result }: { title: string; result: Labelled }) {
  const linked = (
    <>
      {title}: <Link to={`/trials/${result.trial}`}>{result.label}</Link>
    </>
  );
  return <AnswerTile title={linked} value={result.value} about={result.why} />;
}
