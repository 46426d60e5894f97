/**
 * Berth with one service for the groups `streams`, `apps` and `logs`: on Node as `npm start` runs it, on Node
 * with a distant agent, or on workerd.
 */
import { copyFile, mkdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import type Docker from 'dockerode';
import type { Application } from '../../../shared/application-schema.ts';
import { importNodeBase } from '../../../test/support/engines/node-base.ts';
import { startProgram } from '../../../test/support/hosts/process.ts';
import { eventually } from '../../../test/support/tools/eventually.ts';
import { scratchFolder } from '../../../test/support/tools/folder.ts';
import { enter } from '../../attack/target/app-visit.ts';
import { send } from '../../attack/target/http.ts';
import { application } from '../application.ts';
import { Deployment } from '../deployment.ts';
import { type Link, startLink } from '../distant-link.ts';

/** Ports of service-program.ts. */
export const TCP_PORT = 7_000;
export const HTTP_PORT = 8_080;
const IMAGE = 'berth-bench/streams:1';
const APPS = 'apps.example-apps.org';
const START_MS = 60_000;

const settings = {
  BERTH_APPS_URL: `https://*.${APPS}`,
  BERTH_PUBLIC_URL: 'https://berth.example.org',
};

export interface Rig {
  kind: 'Node' | 'workerd';
  deployment: Deployment;
  /** The program in a container (service-program.ts). */
  service: number;
  /** Id and address of its container. */
  container: string;
  address: string;
  /** Headers of a request to its web application by Berth. */
  appHeaders: Record<string, string>;
}

/** Runs `use` with the image that the containers have. */
export async function withImage<T>(docker: Docker, use: () => Promise<T>): Promise<T> {
  const folder = await scratchFolder('berth-bench-image-');
  try {
    await mkdir(join(folder, 'tree'));
    await copyFile(join(import.meta.dirname, 'service-program.ts'), join(folder, 'tree/program.mts'));
    await importNodeBase(docker, IMAGE, folder);
    return await use();
  } finally {
    await docker
      .getImage(IMAGE)
      .remove({ force: true })
      .catch(() => {});
    await rm(folder, { recursive: true, force: true });
  }
}

export async function withNode<T>(docker: Docker, use: (rig: Rig) => Promise<T>): Promise<T> {
  await using deployment = await Deployment.start('bench-streams', 'on', settings);
  return await withService(docker, 'Node', deployment, use);
}

/** With a link between the agent and the control plane. */
export async function withDistantNode<T>(
  docker: Docker,
  length: Link,
  use: (rig: Rig) => Promise<T>,
): Promise<T> {
  await using stack = new AsyncDisposableStack();
  const deployment = stack.use(await Deployment.start('bench-streams-distant', 'off', settings));
  const link = stack.use(
    await startLink({ address: '127.0.0.1', port: Number(new URL(deployment.url).port) }, length),
  );
  stack.use(await startAgent(deployment, `http://127.0.0.1:${link.port}`));
  return await withService(docker, 'Node', deployment, use);
}

/** With gateways, as on Cloudflare. */
export async function withWorkerd<T>(docker: Docker, use: (rig: Rig) => Promise<T>): Promise<T> {
  await using stack = new AsyncDisposableStack();
  const deployment = stack.use(await Deployment.onWorkerd('bench-streams-workerd', settings));
  stack.use(await startAgent(deployment, deployment.url));
  return await withService(docker, 'workerd', deployment, use);
}

async function startAgent(deployment: Deployment, url: string): Promise<AsyncDisposable> {
  const folder = await scratchFolder('berth-bench-agent-');
  const { token } = await deployment.json<{ token: string }>('POST', 'host/token', {});
  const agent = startProgram(['agent/main.ts'], {
    env: {
      BERTH_URL: url,
      BERTH_JOIN_TOKEN: token,
      BERTH_DEPLOYMENT_NAME: deployment.name,
      BERTH_DATA_DIR: folder,
    },
  });
  return {
    async [Symbol.asyncDispose]() {
      await agent.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function withService<T>(
  docker: Docker,
  kind: Rig['kind'],
  deployment: Deployment,
  use: (rig: Rig) => Promise<T>,
): Promise<T> {
  const execution = await deployment.submit(describe());
  const { services } = await deployment.reaches(execution, 'running');
  const [service = 0] = services;
  try {
    const { container, address } = await containerOf(docker, deployment.name, execution);
    for (const port of [TCP_PORT, HTTP_PORT]) await eventually(() => listens(address, port), START_MS);
    const host = `${HTTP_PORT}-${service}.${APPS}`;
    const target = {
      send: (request: Omit<Parameters<typeof send>[1], 'signal'>) =>
        send(new URL(deployment.url), { ...request, signal: AbortSignal.timeout(START_MS) }),
    };
    const appHeaders = { host, cookie: await enter(target, deployment, host) };
    return await use({ kind, deployment, service, container, address, appHeaders });
  } finally {
    await deployment.request('DELETE', `execution/${execution}`);
    await deployment.reaches(execution, 'terminated');
  }
}

function describe(): Application {
  const description = application('node /program.mts');
  for (const service of description.services) {
    service.image = IMAGE;
    const web = { name: 'web', port_number: HTTP_PORT, url_template: 'http://{ip_port}/' };
    service.ports = [{ ...web, protocol: 'tcp', publish: false }];
  }
  return description;
}

async function containerOf(
  docker: Docker,
  deployment: string,
  execution: number,
): Promise<Pick<Rig, 'container' | 'address'>> {
  const label = [`berth.deployment=${deployment}`, `berth.execution=${execution}`];
  const [found] = await docker.listContainers({ filters: { label } });
  const networks = Object.values(found?.NetworkSettings.Networks ?? {});
  const address = networks.map(({ IPAddress }) => IPAddress).find((one) => one !== '');
  if (!found || address === undefined) throw new Error('the container of the service has no address');
  return { container: found.Id, address };
}

function listens(address: string, port: number): Promise<true> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port }, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', reject);
  });
}
