/**
 * A complete Berth as users run it: the control plane as a separate process, by default with the local agent
 * as its child, on the tests' engine. Anything that remains on the engine under the deployment's name is an
 * error at the end.
 */
import { readFile, rm } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type Docker from 'dockerode';
import { ApiClient } from '../clients/api-client.ts';
import { testEngine } from '../engines/engine.ts';
import { removeDeployment } from '../engines/leftovers.ts';
import { type Program, startProgram } from '../hosts/process.ts';
import { documentedAt } from '../tools/documented.ts';
import { eventually } from '../tools/eventually.ts';
import { scratchFolder } from '../tools/folder.ts';

export interface BerthOptions {
  /** Must be unique to the test file: it identifies the containers. */
  deployment: string;
  env?: NodeJS.ProcessEnv;
  /** The program: `control-plane/node.ts`, or an equivalent on workerd. */
  entry?: string;
  port?: number;
}

export const PASSWORD = 'secret words';
const START_MS = 60_000;

/** Starts Berth on a folder that this call creates and `close` removes. */
export async function startBerth(options: BerthOptions): Promise<Berth> {
  const berth = new Berth(options, await testEngine(), await scratchFolder('berth-e2e-'));
  try {
    await berth.start();
  } catch (error) {
    await rm(berth.dataDir, { recursive: true, force: true });
    throw error;
  }
  return berth;
}

export class Berth {
  readonly dataDir: string;
  readonly deployment: string;
  readonly docker: Docker;
  readonly #options: BerthOptions;
  #program: Program | undefined;
  /** Chosen at the first start and then fixed, because separate agents use it. */
  #port: number;
  #api: ApiClient | undefined;
  /** For the first separate agent, which afterwards has a key. */
  #joinToken: string | undefined;

  constructor(options: BerthOptions, docker: Docker, dataDir: string) {
    this.#options = options;
    this.docker = docker;
    this.dataDir = dataDir;
    this.deployment = options.deployment;
    this.#port = options.port ?? 0;
  }

  get program(): Program {
    if (!this.#program) throw new Error('Berth has not been started');
    return this.#program;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get api(): ApiClient {
    if (!this.#api) throw new Error('Berth has not been started');
    return this.#api;
  }

  /** May be called again after the process has ended, in any way. */
  async start(): Promise<void> {
    this.#program = startProgram([this.#options.entry ?? 'control-plane/node.ts'], {
      env: {
        BERTH_PORT: String(this.#port),
        BERTH_DATA_DIR: this.dataDir,
        BERTH_DEPLOYMENT_NAME: this.deployment,
        BERTH_ADMIN_PASSWORD: PASSWORD,
        ...this.#options.env,
      },
    });
    const [, port] = await this.#program.waitFor(/listens on http:\/\/127\.0\.0\.1:(\d+)/, START_MS);
    this.#port = Number(port);
    documentedAt(this.url, this.#options.env?.BERTH_API_VARIANT ?? 'B');
    this.#api = new ApiClient(this.url, 'admin', PASSWORD);
    if (this.#options.env?.BERTH_LOCAL_AGENT === 'off') this.#joinToken ??= await this.#api.joinToken();
  }

  /**
   * Starts a separate agent (`npm run agent`), for a Berth with BERTH_LOCAL_AGENT=off. A second one requires
   * its own join token (of `api`), name and data folder.
   */
  startAgent(env: NodeJS.ProcessEnv = {}): Program {
    return startProgram(['agent/main.ts'], {
      env: {
        BERTH_URL: this.url,
        BERTH_JOIN_TOKEN: this.#joinToken,
        BERTH_DEPLOYMENT_NAME: this.deployment,
        BERTH_DATA_DIR: this.dataDir,
        ...env,
      },
    });
  }

  /** Process id of the local agent, which starts a moment after the control plane listens. */
  agentPid(): Promise<number> {
    const { pid } = this.program;
    return eventually(async () => {
      const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
      const [child] = children.match(/^\d+/) ?? [];
      if (child === undefined) throw new Error('the control plane has no child');
      return Number(child);
    });
  }

  /** Containers of the deployment, running or not. */
  containers(): Promise<Docker.ContainerInfo[]> {
    return this.docker.listContainers({ all: true, filters: { label: [this.#label()] } });
  }

  async containersOf(execution: number): Promise<Docker.ContainerInfo[]> {
    const all = await this.containers();
    return all.filter(({ Labels }) => Labels['berth.execution'] === String(execution));
  }

  /** Names of the execution's containers that were started since `sinceMs`, in the order of their starts. */
  async startsOf(execution: number, sinceMs: number): Promise<string[]> {
    const stream = await this.docker.getEvents({
      since: Math.floor(sinceMs / 1000),
      until: Math.ceil(Date.now() / 1000),
      filters: { event: ['start'], label: [this.#label(), `berth.execution=${execution}`] },
    });
    const events = (await text(stream)).split('\n').filter((line) => line !== '');
    return events.map((line) => JSON.parse(line).Actor.Attributes.name);
  }

  /** Ends all programs. Removes the deployment's remains from the engine, and throws if there are any. */
  async close(...agents: Program[]): Promise<void> {
    const problems: unknown[] = [];
    for (const program of [...agents, this.program]) {
      if (program.ended !== undefined)
        problems.push(new Error(`a program has ended by itself: ${program.output.slice(-2000)}`));
      else await program.stop().catch((error) => problems.push(error));
    }
    const left = await removeDeployment(this.docker, this.deployment);
    problems.push(...left.map((name) => new Error(`left on the engine: ${name}`)));
    await rm(this.dataDir, { recursive: true, force: true });
    if (problems.length > 0) throw new AggregateError(problems, problems.map(String).join('; '));
  }

  #label(): string {
    return `berth.deployment=${this.deployment}`;
  }
}
