/**
 * Bundles the agent into one file, which hosts install: agent/ and its packages, with their licences, for
 * Node 20.11 and newer. The bundle is not minified, because it runs as root and people should be able to read
 * it.
 */
import { mkdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { build } from 'esbuild';
import { AGENT_BUNDLE as BUNDLE } from '../../../shared/protocol/release.ts';
import { VERSION } from '../../version.ts';
import { digestOf, licencesOf, ROOT, replace, WITHOUT_UNUSED } from './bundle.ts';

/** Names that CommonJS packages expect. */
const MODULE_SCOPE = [
  'import { createRequire as requireOfBundle } from "node:module";',
  'const require = requireOfBundle(import.meta.url);',
  'const { filename: __filename, dirname: __dirname } = import.meta;',
];

/**
 * Puts an up-to-date bundle into `folder`, which is created if it is missing. An unchanged bundle is not
 * built again. Concurrent calls, also of other processes, each write a complete file.
 */
export async function ensureAgentBundle(folder: string): Promise<void> {
  const stamp = `// Berth agent ${VERSION} (${await digestOf(['agent', 'shared'], [`control-plane/local/assets/${basename(import.meta.filename)}`])})`;
  const path = join(folder, BUNDLE);
  if ((await firstLine(path)) === stamp) return;
  await mkdir(folder, { recursive: true });
  await replace(path, await bundle(stamp));
}

async function bundle(stamp: string): Promise<string> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: ['agent/main.ts'],
    outfile: BUNDLE,
    write: false,
    metafile: true,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.11',
    charset: 'utf8',
    legalComments: 'inline',
    logLevel: 'silent',
    banner: { js: [stamp, ...MODULE_SCOPE].join('\n') },
    ...WITHOUT_UNUSED,
  });
  const licences = (await licencesOf(Object.keys(metafile.inputs))).replaceAll('*/', '* /');
  return `${outputFiles[0]?.text}\n/*!\n${licences}*/\n`;
}

async function firstLine(path: string): Promise<string | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  return text?.slice(0, text.indexOf('\n'));
}
