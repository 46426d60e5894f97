/**
 * The command line for Node 20.11 and newer, in few files: it must start quickly. What it loads later is in
 * files of its own, beside it.
 */
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, resolve } from 'node:path';
import { build } from 'esbuild';

/**
 * Node 20 takes --env-file for an option of its own wherever it stands, unless `--` comes before it. These
 * two lines are for the shell; the second is a text and a comment for Node.
 */
const START = ['#!/bin/sh', '":" //; exec node -- "$0" "$@"'];

/** Names that CommonJS packages expect. */
const MODULE_SCOPE = [
  'import { createRequire as requireOfBundle } from "node:module";',
  'const require = requireOfBundle(import.meta.url);',
];

/** Writes an executable file, and beside it those that it loads. */
export async function bundleCommand(path: string): Promise<void> {
  await build({
    absWorkingDir: resolve(import.meta.dirname, '..'),
    entryPoints: { [basename(path, extname(path))]: 'cli/main.ts' },
    outdir: dirname(path),
    outExtension: { '.js': extname(path) },
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.11',
    charset: 'utf8',
    banner: { js: MODULE_SCOPE.join('\n') },
  });
  const text = await readFile(path, 'utf8');
  await writeFile(path, [...START, text.slice(text.indexOf('\n') + 1)].join('\n'));
  await chmod(path, 0o755);
}
