/** A Berth of its own for one group of figures: a control plane on a free port, its agent, and a client. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { type Program, startCommand } from '../../test/support/hosts/process.ts';

/** Every user of a bench has it. */
export const PASSWORD = 'secret words';
const basic = (user: string, password = PASSWORD) =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
/**
 * Short compared with the measured times, and long enough to leave the processor to the measured programs.
 */
const POLL_MS = 5;
const MAX_WAIT_MS = 120_000;

const executionSchema = z.object({
  status: z.string(),
  error_message: z.string().nullable(),
  services: z.array(z.number()),
});
type Execution = z.infer<typeof executionSchema>;

/** Limits under which one user can submit everything. */
export const ROOM = { waiting: 1_000_000, waitingPerUser: 1_000_000 };

export class Deployment {
  readonly name: string;
  readonly url: string;
  readonly cookie: string;
  /** Value of the Authorization header with the administrator's password. */
  readonly basic: string = basic('admin');
  readonly #program: Program;
  readonly #folder: string;

  private constructor(name: string, url: string, cookie: string, program: Program, folder: string) {
    this.name = name;
    this.url = url;
    this.cookie = cookie;
    this.#program = program;
    this.#folder = folder;
  }

  /** Starts Berth as `npm start` does. With an agent, resolves once the agent is connected. */
  static async start(name: string, agent: 'on' | 'off', env: NodeJS.ProcessEnv = {}): Promise<Deployment> {
    const folder = await mkdtemp(join(tmpdir(), 'berth-bench-'));
    // Runs npm's script without npm, whose process would count towards the memory.
    const program = startCommand(['sh', '-c', packageJson.scripts.start], {
      env: {
        BERTH_PORT: '0',
        BERTH_DATA_DIR: folder,
        BERTH_DEPLOYMENT_NAME: name,
        BERTH_ADMIN_PASSWORD: PASSWORD,
        BERTH_LOCAL_AGENT: agent,
        BERTH_LIMITS: JSON.stringify(ROOM),
        ...env,
      },
    });
    const [, url = ''] = await program.waitFor(/listens on (http:\S+) /);
    if (agent === 'on') await program.waitFor(/agent\.connected/);
    return new Deployment(name, url, await cookieOf(url, 'admin'), program, folder);
  }

  /** The control plane's process: the shell of npm's script becomes it. */
  get pid(): number {
    return this.#program.pid;
  }

  /** URL of the embedded database, which another process may open at the same time. */
  get databaseUrl(): string {
    return pathToFileURL(join(this.#folder, 'berth.db')).href;
  }

  async stop(): Promise<void> {
    await this.#program.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Throws unless the status is 200. Default: as the administrator. */
  async request(method: string, path: string, body?: unknown, cookie = this.cookie): Promise<Response> {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${this.url}/api/0.7/${path}`, {
      method,
      headers: { cookie },
      ...init,
    });
    if (response.ok) return response;
    throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  }

  /** Removes the limits of the seeded quota, which would queue more than five executions. */
  async removeQuotaLimits(): Promise<void> {
    await this.request('POST', 'quota/1', { concurrent_executions: 0, memory: 0, cores: 0 });
  }

  /** Makes a user and returns the user's session cookie. */
  async addUser(username: string): Promise<string> {
    const created = await this.request('POST', 'user', { username, role_id: 3, quota_id: 1 });
    const { user_id } = z.object({ user_id: z.number() }).parse(await created.json());
    await this.request('POST', `user/${user_id}`, { password: PASSWORD });
    return await cookieOf(this.url, username);
  }

  async submit(application: unknown, cookie = this.cookie): Promise<number> {
    const response = await this.request('POST', 'execution', { name: 'bench', application }, cookie);
    return z.object({ execution_id: z.number() }).parse(await response.json()).execution_id;
  }

  /** Polls until the execution has `status`. Throws if the execution ends with an error. */
  async reaches(id: number, status: string): Promise<Execution> {
    const deadlineMs = performance.now() + MAX_WAIT_MS;
    while (performance.now() < deadlineMs) {
      const response = await this.request('GET', `execution/${id}`);
      const execution = executionSchema.parse(await response.json());
      if (execution.status === status) return execution;
      if (execution.status === 'error') throw new Error(`execution ${id}: ${execution.error_message}`);
      await pause(POLL_MS);
    }
    throw new Error(`execution ${id} did not become ${status} within ${MAX_WAIT_MS} ms`);
  }

  /** Resident memory in MB of the control plane, its agent and their child processes. */
  async residentMb(): Promise<number> {
    const sizes = await Promise.all((await processTreeOf(this.#program.pid)).map(residentBytes));
    return sizes.reduce((sum, bytes) => sum + bytes, 0) / 1e6;
  }
}

/** A session cookie as a header holds it. */
export async function cookieOf(url: string, user: string, password = PASSWORD): Promise<string> {
  const headers = { authorization: basic(user, password) };
  const login = await fetch(`${url}/api/0.7/login`, { headers });
  const cookie = login.headers.get('set-cookie')?.split(';')[0];
  if (cookie === undefined) throw new Error(`the login answered ${login.status} without a session cookie`);
  return cookie;
}

async function processTreeOf(pid: number): Promise<number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const trees = children.trim().split(' ').filter(Boolean).map(Number).map(processTreeOf);
  return [pid, ...(await Promise.all(trees)).flat()];
}

async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(status.match(/^VmRSS:\s+(\d+) kB/m)?.[1] ?? 0) * 1024;
}
