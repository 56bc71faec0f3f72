/**
 * Page of the HTTP API's documentation: Swagger UI, drawn from the server's OpenAPI document, in the colour scheme of
 * the application.
 */
import 'swagger-ui-dist/swagger-ui.css';
import './api.css';

import { Stack, Text, Title, useComputedColorScheme } from '@mantine/core';
import { useEffect, useRef } from 'react';
import SwaggerUI from 'swagger-ui-dist/swagger-ui-es-bundle.js';

export function Component() {
  const container = useRef<HTMLDivElement>(null);
  useDarkMode();
  useEffect(() => {
    const node = container.current;
    if (node === null) return;
    SwaggerUI({ url: '/openapi.json', domNode: node, docExpansion: 'list', deepLinking: false });
    return () => node.replaceChildren();
  }, []);
  return (
    <Stack gap="sm">
      <div>
        <Title order={1}>API</Title>
        <Text size="sm" className="muted">
          Requests that programs can send to this server, from <a href="/openapi.json">/openapi.json</a>.
          &ldquo;Try it out&rdquo; sends a request in your name.
        </Text>
      </div>
      <div ref={container} className="panel" />
    </Stack>
  );
}

/** Sets the class of Swagger UI's dark colours on the root element. */
function useDarkMode() {
  const scheme = useComputedColorScheme('light');
  useEffect(() => {
    const { classList } = document.documentElement;
    classList.toggle('dark-mode', scheme === 'dark');
    return () => classList.remove('dark-mode');
  }, [scheme]);
}
