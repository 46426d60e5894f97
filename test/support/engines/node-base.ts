/**
 * A base image for tests of Dockerfiles: this machine's Node and its libraries, because no base image can be
 * pulled. It has no shell.
 */
import { execFileSync } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type Docker from 'dockerode';

/** Makes the image. `folder` is for its files; `addons` are compiled parts of packages that it must load. */
export async function importNodeBase(
  docker: Docker,
  image: string,
  folder: string,
  addons: string[] = [],
): Promise<void> {
  const tree = join(folder, 'tree');
  const linked = execFileSync('ldd', [process.execPath, ...addons], { encoding: 'utf8' });
  // Lines without an indent are the names of the files that were asked about.
  for (const [, path = ''] of linked.matchAll(/^\t.*?(\/[^\s:]+)/gm)) {
    await mkdir(join(tree, dirname(path)), { recursive: true });
    await copyFile(path, join(tree, path));
  }
  for (const path of ['usr/bin', 'tmp', 'etc']) await mkdir(join(tree, path), { recursive: true });
  await copyFile(process.execPath, join(tree, 'usr/bin/node'));
  const tar = join(folder, 'tree.tar');
  execFileSync('tar', ['-cf', tar, '-C', tree, '.']);
  const [repo, tag] = image.split(':');
  const changes = ['ENV PATH=/usr/bin'];
  await finished(docker, await docker.importImage(createReadStream(tar), { repo, tag, changes }));
}

/** Reads a progress stream to its end: the engine reports errors inside it. */
export const finished = (docker: Docker, progress: NodeJS.ReadableStream): Promise<unknown> =>
  new Promise((done, fail) => {
    docker.modem.followProgress(progress, (error, output) => (error ? fail(error) : done(output)));
  });
