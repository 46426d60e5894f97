/** The command line as one file, for Node 20.11 and newer: it must start quickly. */
import { chmod } from 'node:fs/promises';
import { resolve } from 'node:path';
import { build } from 'esbuild';

/** Names that CommonJS packages expect. */
const MODULE_SCOPE = [
  'import { createRequire as requireOfBundle } from "node:module";',
  'const require = requireOfBundle(import.meta.url);',
];

/** Writes an executable file. */
export async function bundleCommand(path: string): Promise<void> {
  await build({
    absWorkingDir: resolve(import.meta.dirname, '..'),
    entryPoints: ['cli/main.ts'],
    outfile: path,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.11',
    charset: 'utf8',
    banner: { js: MODULE_SCOPE.join('\n') },
  });
  await chmod(path, 0o755);
}
