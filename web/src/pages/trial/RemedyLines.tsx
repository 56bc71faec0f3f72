import { Code, Text } from '@mantine/core';

import type { Remedy } from '../../api/types';

/** What to do about a cause, each with the options that do it. */
export function RemedyLines({ remedies }: { remedies: Remedy[] }) {
  return remedies.map(({ what, options }) => (
    <Text key={what} size="sm" mt={4}>
      Remedy: {what}
      {options ? (
        <>
          {': '}
          <Code>{options}</Code>
        </>
      ) : null}
    </Text>
  ));
}
