/**
 * Owns the agent as one file, which hosts install: agent/ and the packages it uses, with their licences, for Node 20.11 and
 * newer. Readable, since it runs as root.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { VERSION } from '../version.ts';

export const BUNDLE = 'berth-agent.mjs';

const ROOT = resolve(import.meta.dirname, '../..');

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
  const stamp = `// Berth agent ${VERSION} (${await digestOfSources()})`;
  const path = join(folder, BUNDLE);
  if ((await firstLine(path)) === stamp) return;
  await mkdir(folder, { recursive: true });
  await replace(path, await bundle(stamp));
}

/** Writes a file so that whoever reads it meanwhile sees the old one or the new one. */
export async function replace(path: string, content: string | Uint8Array): Promise<void> {
  const draft = `${path}.${process.pid}.new`;
  await writeFile(draft, content);
  await rename(draft, path);
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
  return `${outputFiles[0]?.text}\n${await licencesOf(Object.keys(metafile.inputs))}`;
}

const leaveOut: Plugin = {
  name: 'leave-out',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: UNUSED }, ({ path }) => ({ path, namespace: 'unused' }));
    onLoad({ filter: /./, namespace: 'unused' }, () => ({ contents: 'module.exports = {};' }));
  },
};

/** The licences of all packages in the bundle, which ask to be kept with the code, as one comment. */
async function licencesOf(inputs: readonly string[]): Promise<string> {
  const folders = inputs.flatMap((input) => input.match(/^.*node_modules\/(@[^/]+\/)?[^/]+/)?.[0] ?? []);
  const texts = await Promise.all(
    [...new Set(folders)].sort().map((folder) => licenceOf(resolve(ROOT, folder))),
  );
  return `/*!\nThis file holds the following packages.\n\n${texts.join('\n').replaceAll('*/', '* /')}*/\n`;
}

async function licenceOf(folder: string): Promise<string> {
  const { name, version, license = '' } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const file = (await readdir(folder)).find((one) => /^(licen[cs]e|copying)\b/i.test(one));
  const text = file ? await readFile(join(folder, file), 'utf8') : '';
  return `== ${name} ${version} ${typeof license === 'string' ? license : ''}\n${text.trim()}\n`;
}

/** Tells apart what the bundle is made of: our sources, the packages as the lock file has them, and how it is made. */
async function digestOfSources(): Promise<string> {
  const paths = ['package-lock.json', `control-plane/local/${basename(import.meta.filename)}`];
  for (const room of ['agent', 'shared']) {
    const files = await readdir(join(ROOT, room), { recursive: true });
    paths.push(...files.filter((file) => /\.(ts|json)$/.test(file)).map((file) => `${room}/${file}`));
  }
  const texts = await Promise.all(paths.sort().map((path) => readFile(join(ROOT, path), 'utf8')));
  const hash = createHash('sha256');
  paths.forEach((path, at) => {
    hash.update(`${path}\0${texts[at]}\0`);
  });
  return hash.digest('hex').slice(0, 16);
}

async function firstLine(path: string): Promise<string | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  return text?.slice(0, text.indexOf('\n'));
}
