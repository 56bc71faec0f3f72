/** Message about an import that the server refused: error, hint, and the lines of the file around the error. */
import { Alert, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';

import { ApiError } from '../../api/client';
import { problemText } from '../../components/QueryStates';
import { withFormLabels, linesAround } from './importFile';

export function RefusedImport({ error, file }: { error: unknown; file: File }) {
  const problem = problemText(error);
  const line = error instanceof ApiError ? (error.problem.line ?? null) : null;
  return (
    <Alert
      color="red"
      variant="light"
      icon={<IconAlertTriangle size={18} />}
      title="Nothing was imported"
      role="alert"
    >
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {withFormLabels(problem.message)}
      </Text>
      {problem.hint ? (
        <Text size="sm" className="muted">
          hint: {withFormLabels(problem.hint)}
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
