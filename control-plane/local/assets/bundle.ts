/**
 * Common parts of the bundles that are built from sources and packages: digests, licences and atomic writes.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Plugin } from 'esbuild';

export const ROOT = resolve(import.meta.dirname, '../../..');

/** dockerode loads these 900 KB for building images, which Berth never does. */
const UNUSED = /^(@grpc\/(grpc-js|proto-loader)|protobufjs)$/;

const leaveOut: Plugin = {
  name: 'leave-out',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: UNUSED }, ({ path }) => ({ path, namespace: 'unused' }));
    onLoad({ filter: /./, namespace: 'unused' }, () => ({ contents: 'module.exports = {};' }));
    // ssh2 runs only once there is an engine behind ssh.
    onResolve({ filter: /^\.\/ssh$/ }, ({ resolveDir }) => ({
      path: 'late-ssh',
      namespace: 'late',
      pluginData: resolveDir,
    }));
    onLoad({ filter: /./, namespace: 'late' }, ({ pluginData: resolveDir }) => ({
      contents: "module.exports = (options) => require('./ssh.js')(options);",
      resolveDir,
    }));
  },
};

/** For a bundle with dockerode. The compiled parts are ones that their packages can do without. */
export const WITHOUT_UNUSED = { external: ['*.node'], plugins: [leaveOut] };

/** Replaces a file atomically: a concurrent reader sees the old or the new content. */
export async function replace(path: string, content: string | Uint8Array): Promise<void> {
  const draft = `${path}.${process.pid}.new`;
  await writeFile(draft, content);
  await rename(draft, path);
}

/** The licences of all packages in a bundle, which must accompany the code. */
export async function licencesOf(inputs: readonly string[]): Promise<string> {
  const folders = inputs.flatMap((input) => input.match(/^.*node_modules\/(@[^/]+\/)?[^/]+/)?.[0] ?? []);
  const texts = await Promise.all(
    [...new Set(folders)].sort().map((folder) => licenceOf(resolve(ROOT, folder))),
  );
  return `This file holds the following packages.\n\n${texts.join('\n')}`;
}

async function licenceOf(folder: string): Promise<string> {
  const { name, version, license = '' } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const file = (await readdir(folder)).find((one) => /^(licen[cs]e|copying)\b/i.test(one));
  const text = file ? await readFile(join(folder, file), 'utf8') : '';
  return `== ${name} ${version} ${typeof license === 'string' ? license : ''}\n${text.trim()}\n`;
}

/**
 * A digest of everything that a bundle is built from: the sources in `folders`, the other `files`, and the
 * versions of packages, which an installed package has in its `package.json`.
 */
export async function digestOf(folders: readonly string[], files: readonly string[]): Promise<string> {
  const lock = existsSync(join(ROOT, 'package-lock.json')) ? 'package-lock.json' : 'package.json';
  const paths = [lock, ...files];
  for (const folder of folders) {
    const found = await readdir(join(ROOT, folder), { recursive: true });
    paths.push(
      ...found.filter((file) => /\.([jt]s|json|css)$/.test(file)).map((file) => `${folder}/${file}`),
    );
  }
  const texts = await Promise.all(paths.sort().map((path) => readFile(join(ROOT, path), 'utf8')));
  const hash = createHash('sha256');
  paths.forEach((path, at) => {
    hash.update(`${path}\0${texts[at]}\0`);
  });
  return hash.digest('hex').slice(0, 16);
}
