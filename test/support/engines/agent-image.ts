/**
 * An image of the agent for tests, built by its Dockerfile. The base image consists of this machine's Node
 * and its libraries, because no base image can be pulled.
 */
import { execFileSync } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type Docker from 'dockerode';
import { DEFAULT_SOCKET, socketOf, unixHost } from '../../../agent/engine/engine-address.ts';
import { scratchFolder } from '../tools/folder.ts';

export interface AgentImage {
  name: string;
  remove(): Promise<void>;
}

/** Builds the image from the bundle that the control plane at `url` serves. */
export async function buildAgentImage(docker: Docker, url: string): Promise<AgentImage> {
  const name = `berth-agent-test:${process.pid}`;
  const base = `berth-node-test:${process.pid}`;
  const folder = await scratchFolder('berth-image-');
  try {
    await importBase(docker, base, folder);
    const context = join(folder, 'context');
    await mkdir(context);
    const bundle = await fetch(`${url}/agent/berth-agent.mjs`);
    await writeFile(join(context, 'berth-agent.mjs'), await bundle.bytes());
    await copyFile('agent/install/Dockerfile', join(context, 'Dockerfile'));
    const src = ['Dockerfile', 'berth-agent.mjs'];
    await finished(docker, await docker.buildImage({ context, src }, { t: name, buildargs: { BASE: base } }));
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

/** An agent of that image with these settings, on the tests' engine. The caller starts and removes it. */
export const agentContainer = (
  docker: Docker,
  image: AgentImage,
  settings: Record<string, string>,
): Promise<Docker.Container> =>
  docker.createContainer({
    Image: image.name,
    Env: Object.entries(settings).map(([name, value]) => `${name}=${value}`),
    HostConfig: {
      NetworkMode: 'host',
      PidMode: 'host',
      CapAdd: ['SYS_PTRACE'],
      SecurityOpt: ['apparmor=unconfined'],
      Binds: [`${engineSocket()}:/var/run/docker.sock`],
    },
  });

/** The socket of the tests' engine on this machine. */
const engineSocket = (): string => {
  const host = process.env.DOCKER_HOST || unixHost(DEFAULT_SOCKET);
  const socket = socketOf(host);
  if (!socket) throw new Error(`the engine at ${host} is not on this machine`);
  return socket;
};

async function importBase(docker: Docker, image: string, folder: string): Promise<void> {
  const tree = join(folder, 'tree');
  const libraries = execFileSync('ldd', [process.execPath], { encoding: 'utf8' }).match(/\/\S+/g) ?? [];
  for (const path of libraries) {
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

const finished = (docker: Docker, progress: NodeJS.ReadableStream): Promise<unknown> =>
  new Promise((done, fail) => {
    docker.modem.followProgress(progress, (error, output) => (error ? fail(error) : done(output)));
  });
