/**
 * The context of the control plane's image: its Dockerfile, the package of `npm run pack`, and the npm
 * packages of this checkout. So the image has exactly what is locked, and its build needs no network.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import type { ContextFile } from './image-context.ts';
import { runtimePackages } from './runtime-packages.ts';

const ROOT = resolve(import.meta.dirname, '..');
const EXECUTABLE = 0o111;

/** `tarball` is the path of the package. */
export async function* controlPlaneContext(tarball: string): AsyncIterable<ContextFile> {
  yield { name: 'Dockerfile', content: await readFile(join(ROOT, 'release/deploy/Dockerfile')) };
  yield { name: 'data/', content: Buffer.alloc(0) };
  // The image has all packages as they are locked.
  const files = (await filesOf(tarball)).filter(({ name }) => !name.startsWith('berth/node_modules/'));
  yield* files.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const folder of lockedPackages()) yield* packageFiles(folder);
}

function lockedPackages(): string[] {
  const require = createRequire(join(ROOT, 'package.json'));
  return runtimePackages(require('./package-lock.json'), (folder) => {
    const manifest = join(ROOT, folder, 'package.json');
    return existsSync(manifest) ? require(manifest).version : undefined;
  });
}

async function filesOf(tarball: string): Promise<ContextFile[]> {
  const files: ContextFile[] = [];
  const tar = extract();
  tar.on('entry', ({ name, mode = 0 }, content, next) => {
    const path = name.replace(/^package\//, 'berth/');
    buffer(content).then((bytes) => {
      files.push({ name: path, content: bytes, isExecutable: (mode & EXECUTABLE) !== 0 });
      next();
    }, next);
  });
  const unpacked = new Promise((done, fail) => tar.on('finish', done).on('error', fail));
  Readable.from([await readFile(tarball)])
    .pipe(createGunzip())
    .on('error', (error) => tar.destroy(error))
    .pipe(tar);
  await unpacked;
  return files;
}

/** Without packages that lie inside: the lock lists those, too. Without symbolic links. */
async function* packageFiles(folder: string): AsyncIterable<ContextFile> {
  const entries = await readdir(join(ROOT, folder), { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory() && entry.name !== 'node_modules') yield* packageFiles(path);
    if (!entry.isFile()) continue;
    const isExecutable = ((await stat(join(ROOT, path))).mode & EXECUTABLE) !== 0;
    yield { name: `berth/${path}`, content: await readFile(join(ROOT, path)), isExecutable };
  }
}
