/** Login page for the token that the server printed when it started; the server stores it in a cookie. */
import { Button, Center, Code, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { type SyntheticEvent, useState } from 'react';

import { api } from '../api/client';
import { problemText } from '../components/QueryStates';

export function TokenPage() {
  const [token, setToken] = useState('');
  const [failure, setFailure] = useState<string | null>(null);
  const enter = (event: SyntheticEvent) => {
    event.preventDefault();
    setFailure(null);
    api.POST('/api/v1/login', { body: { token: token.trim() } }).then(
      () => window.location.reload(),
      (error: unknown) => setFailure(problemText(error).message),
    );
  };
  return (
    <Center h="100vh">
      <form onSubmit={enter} className="panel" style={{ padding: 28, width: 420 }}>
        <Stack gap="sm">
          <Title order={1}>fabricbench</Title>
          <Text size="sm">
            This server requires a token. <Code>fabricbench serve</Code> printed it when it started.
          </Text>
          <PasswordInput
            label="Token"
            value={token}
            onChange={(event) => setToken(event.currentTarget.value)}
            autoFocus
            required
            error={failure}
          />
          <Button type="submit">Open the workspace</Button>
        </Stack>
      </form>
    </Center>
  );
}
