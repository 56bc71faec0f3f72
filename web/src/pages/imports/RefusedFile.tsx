/** Message about a file that the server refused: error, hint, and the lines of the file around the error. */
import { Alert, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';

import { ApiError } from '../../api/client';
import { problemText } from '../../components/QueryStates';
import { type FormLabels, linesAround, withFormLabels } from './importFile';

interface Props {
  title: string;
  error: unknown;
  file: File;
  labels: FormLabels;
}

export function RefusedFile({ title, error, file, labels }: Props) {
  const problem = problemText(error);
  const { line = null, field = null } = error instanceof ApiError ? error.problem : {};
  const label = field === null ? undefined : labels[field];
  return (
    <Alert color="red" variant="light" icon={<IconAlertTriangle size={18} />} title={title} role="alert">
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {label === undefined ? '' : `${label}: `}
        {withFormLabels(problem.message, labels)}
      </Text>
      {problem.hint ? (
        <Text size="sm" className="muted">
          hint: {withFormLabels(problem.hint, labels)}
        </Text>
      ) : null}
      {line === null ? null : <Excerpt file={file} line={line} />}
    </Alert>
  );
}

function Excerpt({ file, line }: { file: File; line: number }) {
  const text = useQuery({
    queryKey: ['file', file.name, file.lastModified, file.size],
    queryFn: () => file.text(),
    gcTime: 0,
  });
  return (
    <pre className="excerpt" aria-label={`Line ${line} of ${file.name}`}>
      {linesAround(text.data ?? '', line).map((each) => (
        <div key={each.number} data-meant={each.number === line}>
          <span className="muted">{String(each.number).padStart(5)} </span>
          {each.text}
        </div>
      ))}
    </pre>
  );
}
