/** An image of the agent for tests, built by its Dockerfile. */
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type Docker from 'dockerode';
import { DEFAULT_SOCKET, socketOf, unixHost } from '../../../agent/engine/engine-address.ts';
import { type BuiltImage, buildOnNode } from './node-base.ts';

/** Builds the image from the bundle that the control plane at `url` serves. */
export const buildAgentImage = (docker: Docker, url: string): Promise<BuiltImage> =>
  buildOnNode(docker, 'agent', [], async (options, folder) => {
    const context = join(folder, 'context');
    await mkdir(context);
    const bundle = await fetch(`${url}/agent/berth-agent.mjs`);
    await writeFile(join(context, 'berth-agent.mjs'), await bundle.bytes());
    await copyFile('agent/install/Dockerfile', join(context, 'Dockerfile'));
    return docker.buildImage({ context, src: ['Dockerfile', 'berth-agent.mjs'] }, options);
  });

/** An agent of that image with these settings, on the tests' engine. The caller starts and removes it. */
export const agentContainer = (
  docker: Docker,
  image: BuiltImage,
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

const engineSocket = (): string => {
  const host = process.env.DOCKER_HOST || unixHost(DEFAULT_SOCKET);
  const socket = socketOf(host);
  if (!socket) throw new Error(`the engine at ${host} is not on this machine`);
  return socket;
};
