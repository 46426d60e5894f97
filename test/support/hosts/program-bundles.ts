/**
 * The programs that tests start, each with its modules in few files, since half of a start is the finding of
 * modules. Global set-up of the vitest projects that start them (TEST-12).
 */
import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { ROOT, replace } from '../../../control-plane/local/assets/bundle.ts';
import { withCheapPasswords } from './password-cost.ts';
import { PROGRAM_BUNDLES } from './process.ts';

/** Beside the packages, some of which they import. Always the same, for the compile cache. */
const FOLDER = join(ROOT, 'node_modules/.cache/berth-test');
const PROGRAMS = ['control-plane/node.ts', 'agent/main.ts', 'agent/local/local.ts', 'cli/main.ts'];
/** They have compiled parts, which they find beside themselves. */
const LEFT_OUT = ['libsql', 'esbuild', 'ssh2'];
/** Names that CommonJS packages expect. */
const MODULE_SCOPE = [
  'import { createRequire as requireOfBundle } from "node:module";',
  'const require = requireOfBundle(import.meta.url);',
];

export default async function setup(): Promise<void> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: PROGRAMS,
    outdir: FOLDER,
    outExtension: { '.js': '.mjs' },
    write: false,
    bundle: true,
    // What a command does not need is not read.
    splitting: true,
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
  for (const { path, text } of outputFiles) {
    await mkdir(dirname(path), { recursive: true });
    await replace(path, text);
  }
  process.env[PROGRAM_BUNDLES] = FOLDER;
}

/** Modules go on to find the files that lie beside their sources. */
const keepPlaces: Plugin = {
  name: 'keep-places',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const text = changed(path, await readFile(path, 'utf8'));
      const contents = text
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
        .replaceAll('import.meta.filename', JSON.stringify(path));
      return { loader: 'ts', contents };
    });
  },
};

/** Passwords are cheap, and the control plane starts the bundle of its agent. */
function changed(path: string, source: string): string {
  if (path.endsWith('/passwords/passwords.ts')) return withCheapPasswords(source);
  if (!path.endsWith('/local/local-agent.ts')) return source;
  const parts = source.split("import.meta.dirname, '../../agent/local/local.ts'");
  if (parts.length !== 2) throw new Error(`${path} no longer has the path of the local agent`);
  return parts.join(JSON.stringify(join(FOLDER, 'agent/local/local.mjs')));
}
