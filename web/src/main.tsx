/** Entry point: loads the style sheets and renders the application into `#root` of index.html. */
import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './app/app.css';

import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';

import { App } from './app/App';

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no element #root');
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
