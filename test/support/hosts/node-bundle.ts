/**
 * `control-plane/node.ts` with all its modules in one file, since half of a start is the finding of modules.
 * Global set-up of the vitest project that starts it most often (TEST-12).
 */
import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { ROOT, replace } from '../../../control-plane/local/assets/bundle.ts';
import { withCheapPasswords } from './password-cost.ts';

/** The variable with the path of the file. */
export const NODE_BUNDLE = 'BERTH_TEST_NODE_BUNDLE';
/** Beside the packages, some of which it imports. Always the same, for the compile cache. */
const PATH = join(ROOT, 'node_modules/.cache/berth-test/node.mjs');
/** They have compiled parts, which they find beside themselves. */
const LEFT_OUT = ['libsql', 'esbuild'];
/** Names that CommonJS packages expect. */
const MODULE_SCOPE = [
  'import { createRequire as requireOfBundle } from "node:module";',
  'const require = requireOfBundle(import.meta.url);',
];

export default async function setup(): Promise<void> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: ['control-plane/node.ts'],
    outfile: PATH,
    write: false,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.11',
    // Where a package has two forms: the one with modules, which a bundler can read.
    mainFields: ['module', 'main'],
    logLevel: 'silent',
    banner: { js: MODULE_SCOPE.join('\n') },
    external: LEFT_OUT,
    plugins: [keepPlaces],
  });
  await mkdir(dirname(PATH), { recursive: true });
  await replace(PATH, withCheapPasswords(outputFiles[0]?.text ?? ''));
  process.env[NODE_BUNDLE] = PATH;
}

/** Modules go on to find the files that lie beside their sources. */
const keepPlaces: Plugin = {
  name: 'keep-places',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const contents = text
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
        .replaceAll('import.meta.filename', JSON.stringify(path));
      return { loader: 'ts', contents };
    });
  },
};
