/** Berth with one service for the group `streams`: on Node as `npm start` runs it, or on workerd. */
import { copyFile, mkdir, rm } from 'node:fs/promises';
import { request as sendRequest } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import type Docker from 'dockerode';
import * as z from 'zod';
import type { Application } from '../../../shared/application-schema.ts';
import { importNodeBase } from '../../../test/support/engines/node-base.ts';
import { startProgram } from '../../../test/support/hosts/process.ts';
import { startLimitedWorkerd } from '../../../test/support/hosts/workerd/limited-workerd.ts';
import { eventually } from '../../../test/support/tools/eventually.ts';
import { scratchFolder } from '../../../test/support/tools/folder.ts';
import { application } from '../application.ts';
import { cookieOf, Deployment, PASSWORD } from '../deployment.ts';
import { request } from '../isolate/cluster.ts';
import type { Way } from './flow.ts';

/** Ports of service-program.ts. */
const TCP_PORT = 7_000;
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
  name: string;
  url: string;
  /** Session cookie of the administrator. */
  cookie: string;
  /** The program in a container (service-program.ts). */
  service: number;
  /** Address of its container. */
  address: string;
  forward: Extract<Way, { by: 'berth' }>;
  /** Headers of a request to its web application by Berth. */
  appHeaders: Record<string, string>;
}

/** Runs `use` with the image that the containers have. */
export async function withImage<T>(docker: Docker, use: () => Promise<T>): Promise<T> {
  const folder = await scratchFolder('berth-bench-image-');
  try {
    const program = join(folder, 'tree/program.mts');
    await mkdir(join(folder, 'tree'));
    await copyFile(join(import.meta.dirname, 'service-program.ts'), program);
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

export async function withNode<T>(
  docker: Docker,
  use: (rig: Rig, deployment: Deployment) => Promise<T>,
): Promise<T> {
  const name = 'bench-streams';
  const deployment = await Deployment.start(name, 'on', settings);
  try {
    const { url, cookie } = deployment;
    await deployment.removeQuotaLimits();
    return await withService(docker, { kind: 'Node', name, url, cookie }, (rig) => use(rig, deployment));
  } finally {
    await deployment.stop();
  }
}

/** With gateways, as on Cloudflare. */
export async function withWorkerd<T>(docker: Docker, use: (rig: Rig) => Promise<T>): Promise<T> {
  const name = 'bench-streams-workerd';
  const folder = await scratchFolder('berth-bench-agent-');
  const workerd = await startLimitedWorkerd([], {
    ...settings,
    BERTH_DEPLOYMENT_NAME: name,
    BERTH_ADMIN_PASSWORD: PASSWORD,
  });
  try {
    const url = workerd.url();
    const cookie = await cookieOf(url, 'admin');
    const joined = await request({ url }, cookie, 'POST', 'host/token', {});
    const { token } = z.object({ token: z.string() }).parse(JSON.parse(joined));
    const agent = startProgram(['agent/main.ts'], {
      env: {
        BERTH_URL: url,
        BERTH_JOIN_TOKEN: token,
        BERTH_DEPLOYMENT_NAME: name,
        BERTH_DATA_DIR: folder,
      },
    });
    try {
      return await withService(docker, { kind: 'workerd', name, url, cookie }, use);
    } finally {
      await agent.stop();
    }
  } finally {
    await workerd.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function withService<T>(
  docker: Docker,
  place: Pick<Rig, 'kind' | 'name' | 'url' | 'cookie'>,
  use: (rig: Rig) => Promise<T>,
): Promise<T> {
  const { execution, service } = await run(place, describe());
  try {
    const address = await addressOf(docker, place.name, execution);
    for (const port of [TCP_PORT, HTTP_PORT]) await eventually(() => listens(address, port), START_MS);
    const forward: Rig['forward'] = {
      by: 'berth',
      url: place.url,
      password: PASSWORD,
      service,
      port: TCP_PORT,
    };
    return await use({ ...place, service, address, forward, appHeaders: await enter(place, service) });
  } finally {
    await end(place, execution);
  }
}

/** Submits, and waits until the only service runs. */
export async function run(
  { url, cookie }: Pick<Rig, 'url' | 'cookie'>,
  description: Application,
): Promise<{ execution: number; service: number }> {
  const body = { name: 'bench', application: description };
  const submitted = await request({ url }, cookie, 'POST', 'execution', body);
  const { execution_id: execution } = z.object({ execution_id: z.number() }).parse(JSON.parse(submitted));
  await reaches({ url, cookie }, execution, 'running');
  const seen = await request({ url }, cookie, 'GET', `execution/${execution}`);
  const [service] = z.object({ services: z.array(z.number()) }).parse(JSON.parse(seen)).services;
  if (service === undefined) throw new Error('the execution has no service');
  return { execution, service };
}

export async function end({ url, cookie }: Pick<Rig, 'url' | 'cookie'>, execution: number): Promise<void> {
  await request({ url }, cookie, 'DELETE', `execution/${execution}`);
  await reaches({ url, cookie }, execution, 'terminated');
}

async function reaches(
  { url, cookie }: Pick<Rig, 'url' | 'cookie'>,
  execution: number,
  status: string,
): Promise<void> {
  await eventually(async () => {
    const text = await request({ url }, cookie, 'GET', `execution/${execution}`);
    const found = z
      .object({ status: z.string(), error_message: z.string().nullable() })
      .parse(JSON.parse(text));
    if (found.status === status) return true;
    throw new Error(`execution ${execution} is ${found.status}, not ${status}: ${found.error_message}`);
  }, START_MS);
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

async function addressOf(docker: Docker, deployment: string, execution: number): Promise<string> {
  const label = [`berth.deployment=${deployment}`, `berth.execution=${execution}`];
  const [container] = await docker.listContainers({ filters: { label } });
  const networks = Object.values(container?.NetworkSettings.Networks ?? {});
  const address = networks.map(({ IPAddress }) => IPAddress).find((one) => one !== '');
  if (address === undefined) throw new Error('the container of the service has no address');
  return address;
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

/** Visits the web application as a browser does for the first time. Resolves to what later requests send. */
async function enter(
  { url, cookie }: Pick<Rig, 'url' | 'cookie'>,
  service: number,
): Promise<Record<string, string>> {
  const host = `${HTTP_PORT}-${service}.${APPS}`;
  const page = { accept: 'text/html' };
  const navigation = {
    'sec-fetch-site': 'none',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
  };
  const begun = await visit(url, '/', { ...page, ...navigation, host });
  const ticket = await visit(url, begun.path, { ...page, cookie });
  const entered = await visit(url, ticket.path, { ...page, ...navigation, host, cookie: begun.cookie });
  return { host, cookie: entered.cookie };
}

/** Resolves to where a redirect leads, and to the cookie that comes with it. */
function visit(
  url: string,
  path: string,
  headers: Record<string, string>,
): Promise<{ path: string; cookie: string }> {
  return new Promise((resolve, reject) => {
    const sent = sendRequest(new URL(path, url), { headers }, (answer) => {
      answer.resume();
      const { location } = answer.headers;
      if (location === undefined) return reject(new Error(`GET ${path}: ${answer.statusCode}`));
      const { pathname, search } = new URL(location, url);
      const [cookie = ''] = answer.headers['set-cookie'] ?? [];
      resolve({ path: pathname + search, cookie: cookie.split(';')[0] ?? '' });
    });
    sent.on('error', reject).end();
  });
}
