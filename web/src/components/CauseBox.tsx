/**
 * A likely cause of a slow job: CauseText has its name, fraction of the lost time and sentence; CauseBox is that with
 * a title, a link to the diagnosis and the first remedies.
 */
import { Progress, Text } from '@mantine/core';
import { Link } from 'react-router';

import type { Finding } from '../api/types';
import { causeTitle, explainedText } from '../format/causes';
import { sentence } from '../format/jobs';
import { Remedies } from './Remedies';

interface Props {
  trial: string;
  finding: Finding;
  title: string;
}

export function CauseBox({ trial, finding, title }: Props) {
  return (
    <section aria-label={title}>
      <Text size="xs" className="muted">
        {title} · <Link to={`/trials/${trial}/diagnosis`}>Diagnosis</Link>
      </Text>
      <CauseText finding={finding} />
      <Remedies trial={trial} remedies={finding.remedies.slice(0, 2)} />
    </section>
  );
}

export function CauseText({ finding }: { finding: Finding }) {
  const percent = finding.explained === null ? null : finding.explained * 100;
  return (
    <>
      <Text fw={600}>
        {causeTitle(finding.cause)}{' '}
        {percent === null ? null : (
          <Text span size="sm" className="muted" fw={400}>
            {explainedText(percent)}
          </Text>
        )}
      </Text>
      {percent === null ? null : (
        <Progress value={percent} size="xs" mt={2} maw={320} aria-label={explainedText(percent)} />
      )}
      <Text size="sm" mt={4}>
        {sentence(finding.sentence)}
      </Text>
    </>
  );
}
