/**
 * A base image for tests of Dockerfiles: this machine's Node and its libraries, because no base image can be
 * pulled. It has no shell.
 */
import { execFileSync } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { copyFile, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type Docker from 'dockerode';
import { scratchFolder } from '../tools/folder.ts';

/** Makes the image. `folder` is for its files; `addons` are compiled parts of packages that it must load. */
export const importNodeBase = (
  docker: Docker,
  image: string,
  folder: string,
  addons: string[] = [],
): Promise<void> => importProgram(docker, image, folder, { path: process.execPath, name: 'node', addons });

export interface BuiltImage {
  name: string;
  remove(): Promise<void>;
}

/**
 * Makes the image and another one on top of it: `build` gets the options, and a folder for its files, and
 * begins to build.
 */
export async function buildOnNode(
  docker: Docker,
  kind: string,
  addons: string[],
  build: (options: Docker.ImageBuildOptions, folder: string) => Promise<NodeJS.ReadableStream>,
): Promise<BuiltImage> {
  const name = `berth-${kind}-test:${process.pid}`;
  const base = `berth-${kind}-node-test:${process.pid}`;
  const folder = await scratchFolder('berth-image-');
  try {
    await importNodeBase(docker, base, folder, addons);
    await finished(docker, await build({ t: name, buildargs: { BASE: base } }, folder));
  } finally {
    await rm(folder, { recursive: true });
  }
  return {
    name,
    remove: async () => {
      for (const one of [name, base]) await docker.getImage(one).remove();
    },
  };
}

/** Makes an image of a program of this machine and its libraries. */
export async function importProgram(
  docker: Docker,
  image: string,
  folder: string,
  program: { path: string; name: string; addons?: string[]; changes?: string[] },
): Promise<void> {
  const { path: file, name, addons = [], changes = [] } = program;
  const tree = join(folder, 'tree');
  const linked = execFileSync('ldd', [file, ...addons], { encoding: 'utf8' });
  // Lines without an indent are the names of the files that were asked about.
  for (const [, path = ''] of linked.matchAll(/^\t.*?(\/[^\s:]+)/gm)) {
    await mkdir(join(tree, dirname(path)), { recursive: true });
    await copyFile(path, join(tree, path));
  }
  for (const path of ['usr/bin', 'tmp', 'etc']) await mkdir(join(tree, path), { recursive: true });
  await copyFile(file, join(tree, 'usr/bin', name));
  const tar = join(folder, 'tree.tar');
  execFileSync('tar', ['-cf', tar, '-C', tree, '.']);
  await importTar(docker, tar, image, ['ENV PATH=/usr/bin', ...changes]);
}

/** Makes an image of a root file system, a tar archive. */
export async function importTar(docker: Docker, tar: string, image: string, changes: string[] = []) {
  const [repo, tag] = image.split(':');
  await finished(docker, await docker.importImage(createReadStream(tar), { repo, tag, changes }));
}

/** Reads a progress stream to its end: the engine reports errors inside it. */
export const finished = (docker: Docker, progress: NodeJS.ReadableStream): Promise<unknown> =>
  new Promise((done, fail) => {
    docker.modem.followProgress(progress, (error, output) => (error ? fail(error) : done(output)));
  });
