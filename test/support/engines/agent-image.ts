/** An image of the agent for tests, built by its Dockerfile. */
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type Docker from 'dockerode';
import { DEFAULT_SOCKET, socketOf, unixHost } from '../../../agent/engine/engine-address.ts';
import { scratchFolder } from '../tools/folder.ts';
import { finished, importNodeBase } from './node-base.ts';

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
    await importNodeBase(docker, base, folder);
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
