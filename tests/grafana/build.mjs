// Bundles the page into dist/, with the packages of one version of Grafana. Takes about ten seconds, so it is left out
// where nothing is newer than the bundle. Without a version it has the packages beside this file, those of the newest.
import * as esbuild from 'esbuild';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const STUBS = path.join(HERE, 'src/stubs');
const BEFORE_LOGGERS = ['10.4', '11.6', '12.0', '12.2'];
const BEFORE_NEW_TABLE = ['10.4', '11.6'];

/** The folder with a version's node_modules. */
export const packagesOf = (version) => (version ? path.join(HERE, 'versions', version) : HERE);
/** The folder of a version's bundle. */
export const bundleOf = (version) => path.join(HERE, 'dist', version ?? '');

function sources(version) {
  const inside = fs.readdirSync(path.join(HERE, 'src'), { recursive: true }).map((name) => path.join(HERE, 'src', name));
  return [...inside, path.join(packagesOf(version), 'package-lock.json'), fileURLToPath(import.meta.url)];
}

function isFresh(version) {
  const bundle = path.join(bundleOf(version), 'page.js');
  return fs.existsSync(bundle) && sources(version).every((one) => fs.statSync(one).mtimeMs < fs.statSync(bundle).mtimeMs);
}

const ours = ({ importer }) => !importer.includes('node_modules');

/** What our sources import comes from the version's packages; what these lack, or ship broken, from elsewhere. */
function packages(version) {
  const again = {};
  const own = (build) => (given) =>
    given.pluginData !== again && ours(given) && given.kind !== 'entry-point'
      ? build.resolve(given.path, { resolveDir: packagesOf(version), kind: given.kind, pluginData: again })
      : undefined;
  // Packages that name files of others without their ending, which `exports` has refused since.
  const ended = (build) => (given) =>
    given.pluginData === again || given.path.endsWith('.js')
      ? undefined
      : build.resolve(`${given.path}.js`, { resolveDir: given.resolveDir, kind: given.kind, pluginData: again });
  return {
    name: 'packages of a version',
    setup(build) {
      if (BEFORE_LOGGERS.includes(version)) {
        build.onResolve({ filter: /^@grafana\/runtime\/unstable$/ }, () => ({ path: path.join(STUBS, 'loggers.ts') }));
      }
      if (BEFORE_NEW_TABLE.includes(version)) {
        // Imported by a module as Node.js does it, the old table's scroll bars are no component.
        build.onResolve({ filter: /^react-custom-scrollbars-2$/ }, (given) =>
          ours(given) ? undefined : { path: path.join(STUBS, 'scrollbars.ts') }
        );
        build.onResolve({ filter: /^@grafana\/ui\/unstable$/ }, (given) =>
          ours(given) ? { path: path.join(STUBS, 'old-table.tsx') } : undefined
        );
      }
      if (version === '12.0') {
        // Its modules lack exports that others import.
        build.onResolve({ filter: /^@grafana\/ui(\/unstable)?$/ }, (given) => {
          const file = given.path.endsWith('unstable') ? 'unstable.cjs' : 'index.cjs';
          return { path: path.join(packagesOf(version), 'node_modules/@grafana/ui/dist/cjs', file) };
        });
      }
      build.onResolve({ filter: /^(@grafana\/schema|systemjs)\/dist\// }, ended(build));
      build.onResolve({ filter: /^[^./]/ }, own(build));
    },
  };
}

export async function build(version) {
  if (isFresh(version)) {
    return;
  }
  await esbuild.build({
    absWorkingDir: HERE,
    entryPoints: ['src/page.tsx'],
    outfile: path.join(bundleOf(version), 'page.js'),
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
    plugins: version ? [packages(version)] : [],
  });
}
