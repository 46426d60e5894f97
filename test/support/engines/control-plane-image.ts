/** An image of the control plane for tests, built from the context that `npm run release` makes. */
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type Docker from 'dockerode';
import { scratchFolder } from '../tools/folder.ts';
import { finished, importNodeBase } from './node-base.ts';

export interface ControlPlaneImage {
  name: string;
  remove(): Promise<void>;
}

export async function buildControlPlaneImage(docker: Docker, context: string): Promise<ControlPlaneImage> {
  const name = `berth-control-plane-test:${process.pid}`;
  const base = `berth-control-plane-node-test:${process.pid}`;
  const folder = await scratchFolder('berth-image-');
  try {
    await importNodeBase(docker, base, folder, [libsqlAddon()]);
    const options = { t: name, buildargs: { BASE: base }, networkmode: 'none' };
    await finished(docker, await docker.buildImage(createReadStream(context), options));
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

const libsqlAddon = (): string =>
  createRequire(import.meta.resolve('libsql')).resolve(`@libsql/linux-${process.arch}-gnu`);

/**
 * A control plane of that image with its data in a volume, restricted as the operator guide shows it. It
 * listens on the loopback of this machine. The caller starts and removes it.
 */
export const controlPlaneContainer = (
  docker: Docker,
  image: ControlPlaneImage,
  volume: string,
  settings: Record<string, string>,
): Promise<Docker.Container> =>
  docker.createContainer({
    Image: image.name,
    Env: Object.entries({ BERTH_HOST: '127.0.0.1', ...settings }).map(([name, value]) => `${name}=${value}`),
    // The command is that of the image.
    Healthcheck: { Interval: 1_000_000_000 },
    HostConfig: {
      NetworkMode: 'host',
      ReadonlyRootfs: true,
      Tmpfs: { '/tmp': '' },
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Mounts: [{ Type: 'volume', Source: volume, Target: '/data' }],
    },
  });
