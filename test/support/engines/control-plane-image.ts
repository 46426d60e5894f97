/** An image of the control plane for tests, built from the context that `npm run release` makes. */
import { createReadStream } from 'node:fs';
import { createRequire } from 'node:module';
import type Docker from 'dockerode';
import { type BuiltImage, buildOnNode } from './node-base.ts';

export const buildControlPlaneImage = (docker: Docker, context: string): Promise<BuiltImage> =>
  buildOnNode(docker, 'control-plane', [libsqlAddon()], (options) =>
    docker.buildImage(createReadStream(context), { ...options, networkmode: 'none' }),
  );

const libsqlAddon = (): string =>
  createRequire(import.meta.resolve('libsql')).resolve(`@libsql/linux-${process.arch}-gnu`);

/**
 * A control plane of that image with its data in a volume, restricted as the operator guide shows it. It
 * listens on the loopback of this machine. The caller starts and removes it.
 */
export const controlPlaneContainer = (
  docker: Docker,
  image: BuiltImage,
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
