/** Vite: builds into the Python package, whose server serves the files; `npm run dev` forwards the API to a running server. */
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

const server = process.env.FABRICBENCH_URL ?? 'http://127.0.0.1:8765';

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: '../python/fabricbench/server/static',
    emptyOutDir: true,
    chunkSizeWarningLimit: 1600,
    sourcemap: false,
  },
  server: { proxy: { '/api': server, '/vendor': server }, fs: { allow: ['..'] } },
  test: { include: ['tests/**/*.test.ts'], environment: 'node' },
});
