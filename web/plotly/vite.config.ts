/** Vite: builds Plotly's library with the traces in use, for reports and the web application, into the Python package. */
import { defineConfig } from 'vite';

import web from '../package.json' with { type: 'json' };

const LICENCE = `/*! plotly.js v${web.dependencies['plotly.js']}, bar, box, heatmap, scatter. Copyright Plotly, Inc. MIT licence */`;

export default defineConfig({
  define: { global: 'globalThis' },
  plugins: [
    // Plotly's core refers to the style sheet of its maps, which are left out.
    {
      name: 'no-styles',
      enforce: 'pre',
      resolveId: (id) => (id.endsWith('.css') ? '\0none' : null),
      load: (id) => (id === '\0none' ? '' : null),
    },
  ],
  build: {
    lib: { entry: 'plotly/bundle.js', formats: ['iife'], name: 'Figures', fileName: () => 'plotly.min.js' },
    outDir: '../python/fabricbench/figures',
    emptyOutDir: false,
    copyPublicDir: false,
    rolldownOptions: { output: { postBanner: LICENCE } },
  },
});
