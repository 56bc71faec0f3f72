/** The HTTP API: every request with its fields and answers, to be tried in place. */
import 'swagger-ui-dist/swagger-ui.css';
import './api.css';

import { Stack, Text, Title, useComputedColorScheme } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useEffect, useRef } from 'react';
import SwaggerUI from 'swagger-ui-dist/swagger-ui-es-bundle.js';

export function Component() {
  useDocumentTitle('API · fabricbench');
  const place = useRef<HTMLDivElement>(null);
  useDarkMode();
  useEffect(() => {
    const node = place.current;
    if (node === null) return;
    SwaggerUI({ url: '/openapi.json', domNode: node, docExpansion: 'list', deepLinking: false });
    return () => node.replaceChildren();
  }, []);
  return (
    <Stack gap="sm">
      <div>
        <Title order={1}>API</Title>
        <Text size="sm" className="muted">
          What programs ask of this server, from <a href="/openapi.json">/openapi.json</a>. &ldquo;Try it
          out&rdquo; sends a request in your name.
        </Text>
      </div>
      <div ref={place} className="panel" />
    </Stack>
  );
}

/** Swagger UI looks for a class of its own at the root. */
function useDarkMode() {
  const scheme = useComputedColorScheme('light');
  useEffect(() => {
    const { classList } = document.documentElement;
    classList.toggle('dark-mode', scheme === 'dark');
    return () => classList.remove('dark-mode');
  }, [scheme]);
}
