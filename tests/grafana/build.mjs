// Bundles the page into dist/. Takes about ten seconds, so it is left out where nothing is newer than the bundle.
import * as esbuild from 'esbuild';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const BUNDLE = path.join(HERE, 'dist/page.js');

function sources() {
  const inside = fs.readdirSync(path.join(HERE, 'src'), { recursive: true }).map((name) => path.join(HERE, 'src', name));
  return [...inside, path.join(HERE, 'package-lock.json'), fileURLToPath(import.meta.url)];
}

function isFresh() {
  return fs.existsSync(BUNDLE) && sources().every((one) => fs.statSync(one).mtimeMs < fs.statSync(BUNDLE).mtimeMs);
}

export async function build() {
  if (isFresh()) {
    return;
  }
  await esbuild.build({
    absWorkingDir: HERE,
    entryPoints: ['src/page.tsx'],
    outfile: BUNDLE,
    bundle: true,
    format: 'iife',
    jsx: 'automatic',
    logLevel: 'warning',
    conditions: ['import', 'browser', 'module'],
    mainFields: ['browser', 'module', 'main'],
    // In development mode Grafana's logger registry refuses what its app does.
    define: { 'process.env.NODE_ENV': '"production"', global: 'window' },
    loader: { '.svg': 'dataurl', '.png': 'dataurl', '.woff': 'dataurl', '.woff2': 'dataurl', '.ttf': 'dataurl' },
    alias: {
      'react-router-dom-v5-compat': 'react-router-dom',
      '@grafana/assistant': './src/stubs/assistant.ts',
      '@grafana/plugin-compat/datasources': './src/stubs/plugin-compat.ts',
    },
  });
}
