/** A Berth of its own for one group of figures, as `npm start` runs it or on workerd, and its client. */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { Execution } from '../../client/api-types.ts';
import packageJson from '../../package.json' with { type: 'json' };
import type { Application } from '../../shared/application-schema.ts';
import { startCommand } from '../../test/support/hosts/process.ts';
import {
  type LimitedWorkerd,
  type LimitedWorkerdOptions,
  startLimitedWorkerd,
} from '../../test/support/hosts/workerd/limited-workerd.ts';
import { scratchFolder } from '../../test/support/tools/folder.ts';
import { queuedApplication } from './application.ts';
import type { Load } from './load.ts';

/** Every user of a bench has it. */
export const PASSWORD = 'secret words';
export const basic = (user: string) => `Basic ${Buffer.from(`${user}:${PASSWORD}`).toString('base64')}`;
/**
 * Short compared with the measured times, and long enough to leave the processor to the measured programs.
 */
const POLL_MS = 5;
const SAMPLE_MS = 100;
const MAX_WAIT_MS = 120_000;
/** One user submits everything. */
export const ROOM = { waiting: 1_000_000, waitingPerUser: 1_000_000 };
const unbounded = { BERTH_LIMITS: JSON.stringify(ROOM) };

/** What runs a control plane. */
interface Host {
  url: string;
  /** The database, which another process may open at the same time. */
  databaseUrl: string;
  /** The control plane's process. */
  pid(): number;
  stop(): Promise<unknown>;
}

export class Deployment {
  readonly name: string;
  readonly url: string;
  readonly databaseUrl: string;
  /** Session cookie of the administrator. */
  readonly cookie: string;
  readonly #host: Host;

  private constructor(name: string, host: Host, cookie: string) {
    this.name = name;
    this.url = host.url;
    this.databaseUrl = host.databaseUrl;
    this.cookie = cookie;
    this.#host = host;
  }

  /** Starts Berth as `npm start` does. With an agent, resolves once the agent is connected. */
  static async start(name: string, agent: 'on' | 'off', env: NodeJS.ProcessEnv = {}): Promise<Deployment> {
    const folder = await scratchFolder('berth-bench-');
    // Runs npm's script without npm, whose process would count towards the memory.
    const program = startCommand(['sh', '-c', packageJson.scripts.start], {
      env: {
        BERTH_PORT: '0',
        BERTH_DATA_DIR: folder,
        BERTH_DEPLOYMENT_NAME: name,
        BERTH_ADMIN_PASSWORD: PASSWORD,
        BERTH_LOCAL_AGENT: agent,
        ...unbounded,
        ...env,
      },
    });
    const [, url = ''] = await program.waitFor(/listens on (http:\S+) /);
    if (agent === 'on') await program.waitFor(/agent\.connected/);
    const host = {
      url,
      databaseUrl: pathToFileURL(join(folder, 'berth.db')).href,
      // The shell of npm's script becomes the control plane.
      pid: () => program.pid,
      stop: async () => {
        await program.stop();
        await rm(folder, { recursive: true, force: true });
      },
    };
    return new Deployment(name, host, await cookieOf(url, 'admin'));
  }

  /** Starts the bundle for Cloudflare on workerd itself: the handling by wrangler would count. */
  static async onWorkerd(
    name: string,
    env: Record<string, string> = {},
    v8Flags: readonly string[] = [],
    options: LimitedWorkerdOptions = {},
  ): Promise<Deployment & { workerd: LimitedWorkerd }> {
    const settings = { BERTH_DEPLOYMENT_NAME: name, BERTH_ADMIN_PASSWORD: PASSWORD, ...unbounded, ...env };
    const workerd = await startLimitedWorkerd(v8Flags, settings, options);
    const host = {
      url: workerd.url(),
      databaseUrl: env.BERTH_DATABASE_URL ?? workerd.databaseUrl,
      pid: () => workerd.program().pid,
      stop: workerd.stop,
    };
    const deployment = new Deployment(name, host, await cookieOf(host.url, 'admin'));
    return Object.assign(deployment, { workerd });
  }

  async stop(): Promise<void> {
    await this.#host.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Throws unless the status is 200. Default: as the administrator. */
  async request(method: string, path: string, body?: unknown, cookie = this.cookie): Promise<Response> {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${this.url}/api/0.7/${path}`, { method, headers: { cookie }, ...init });
    if (response.ok) return response;
    throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  }

  async json<T>(method: string, path: string, body?: unknown): Promise<T> {
    return (await (await this.request(method, path, body)).json()) as T;
  }

  /** Requests as the load generator sends them. A path that begins with `/` is that of a page. */
  load(method: string, path: string, clients: number): Omit<Load, 'requests'> {
    return {
      port: Number(new URL(this.url).port),
      method,
      path: path.startsWith('/') ? path : `/api/0.7/${path}`,
      headers: { cookie: this.cookie, 'content-type': 'application/json' },
      clients,
    };
  }

  submissions(clients: number, application = queuedApplication(), name = 'bench'): Omit<Load, 'requests'> {
    return { ...this.load('POST', 'execution', clients), body: JSON.stringify({ name, application }) };
  }

  /** Removes the limits of the seeded quota, which would queue more than five executions. */
  async removeQuotaLimits(): Promise<void> {
    await this.request('POST', 'quota/1', { concurrent_executions: 0, memory: 0, cores: 0 });
  }

  /** Makes a user and returns the user's id and session cookie. */
  async addUser(username: string): Promise<{ id: number; cookie: string }> {
    const user = { username, role_id: 3, quota_id: 1 };
    const { user_id: id } = await this.json<{ user_id: number }>('POST', 'user', user);
    await this.request('POST', `user/${id}`, { password: PASSWORD });
    return { id, cookie: await cookieOf(this.url, username) };
  }

  async submit(application: Application, cookie = this.cookie): Promise<number> {
    const response = await this.request('POST', 'execution', { name: 'bench', application }, cookie);
    return ((await response.json()) as { execution_id: number }).execution_id;
  }

  execution(id: number): Promise<Execution> {
    return this.json('GET', `execution/${id}`);
  }

  /** Polls until the execution has `status`. Throws if the execution ends with an error. */
  async reaches(id: number, status: string): Promise<Execution> {
    const deadlineMs = performance.now() + MAX_WAIT_MS;
    while (performance.now() < deadlineMs) {
      const execution = await this.execution(id);
      if (execution.status === status) return execution;
      if (execution.status === 'error') throw new Error(`execution ${id}: ${execution.error_message}`);
      await pause(POLL_MS);
    }
    throw new Error(`execution ${id} did not become ${status} within ${MAX_WAIT_MS} ms`);
  }

  /** Processor time that the control plane has used, in steps of 10 ms. */
  async processorMs(): Promise<number> {
    const stat = await readFile(`/proc/${this.#host.pid()}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return 10 * (Number(fields[11]) + Number(fields[12]));
  }

  /** Processor time that the control plane uses during `work`. */
  async processorMsOf(work: () => Promise<unknown>): Promise<number> {
    const before = await this.processorMs();
    await work();
    return (await this.processorMs()) - before;
  }

  /** Memory in MB (PSS) of the control plane, and of its agent with the agent's children. */
  async proportionalMb(): Promise<{ controlPlane: number; agent: number }> {
    const [controlPlane = 0, ...children] = await this.#sizes('smaps_rollup', /^Pss:\s+(\d+) kB/m);
    return { controlPlane, agent: sum(children) };
  }

  /** Resident memory in MB of the control plane, its agent and their child processes. */
  async residentMb(): Promise<number> {
    return sum(await this.#sizes('status', /^VmRSS:\s+(\d+) kB/m));
  }

  /** The most resident memory in MB during `work`, beyond that before it. */
  async growthMb(work: () => Promise<unknown>): Promise<number> {
    const beforeMb = await this.residentMb();
    let mostMb = beforeMb;
    let isOver = false;
    const sampling = (async () => {
      while (!isOver) {
        mostMb = Math.max(mostMb, await this.residentMb());
        await pause(SAMPLE_MS);
      }
    })();
    try {
      await work();
    } finally {
      isOver = true;
      await sampling;
    }
    return mostMb - beforeMb;
  }

  async #sizes(file: string, kilobytes: RegExp): Promise<number[]> {
    const pids = await processTreeOf(this.#host.pid());
    const texts = await Promise.all(
      pids.map((pid) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')),
    );
    return texts.map((text) => (Number(text.match(kilobytes)?.[1] ?? 0) * 1024) / 1e6);
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** A session cookie as a header holds it. */
async function cookieOf(url: string, user: string): Promise<string> {
  const headers = { authorization: basic(user) };
  const login = await fetch(`${url}/api/0.7/login`, { headers });
  const cookie = login.headers.get('set-cookie')?.split(';')[0];
  if (cookie === undefined) throw new Error(`the login answered ${login.status} without a session cookie`);
  return cookie;
}

/** The process first, then its descendants. */
async function processTreeOf(pid: number): Promise<number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const trees = children.trim().split(' ').filter(Boolean).map(Number).map(processTreeOf);
  return [pid, ...(await Promise.all(trees)).flat()];
}
