/**
 * Owns the agent as one file, which hosts install: agent/ and the packages it uses, with their licences, for Node 20.11 and
 * newer. Readable, since it runs as root.
 */
import { mkdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { VERSION } from '../../version.ts';
import { digestOf, licencesOf, ROOT, replace } from './bundle.ts';

export const BUNDLE = 'berth-agent.mjs';

/** dockerode loads them for building images, which the agent never does: 900 KB. */
const UNUSED = /^(@grpc\/(grpc-js|proto-loader)|protobufjs)$/;

/** What the packages that are no ES modules expect to be there. */
const MODULE_SCOPE = [
  'import { createRequire as requireOfBundle } from "node:module";',
  'const require = requireOfBundle(import.meta.url);',
  'const { filename: __filename, dirname: __dirname } = import.meta;',
];

/**
 * Leaves an up-to-date bundle in `folder`, which need not be there. Where nothing it is made of has changed it is not made
 * again; calls at the same time, by other processes too, each put a whole file in place.
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
    // Compiled parts of packages that do without them.
    external: ['*.node'],
    plugins: [leaveOut],
  });
  const licences = (await licencesOf(Object.keys(metafile.inputs))).replaceAll('*/', '* /');
  return `${outputFiles[0]?.text}\n/*!\n${licences}*/\n`;
}

const leaveOut: Plugin = {
  name: 'leave-out',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: UNUSED }, ({ path }) => ({ path, namespace: 'unused' }));
    onLoad({ filter: /./, namespace: 'unused' }, () => ({ contents: 'module.exports = {};' }));
  },
};

async function firstLine(path: string): Promise<string | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  return text?.slice(0, text.indexOf('\n'));
}
