/** Starts simulated agents (programs/agents-program.ts) in a process of their own. */
import { type Program, startProgram } from '../../test/support/hosts/process.ts';
import type { Deployment } from './deployment.ts';
import type { SimulatedAgentOptions } from './programs/simulated-agent.ts';

/** Task of agents-program.ts. */
export interface AgentsLoad
  extends Pick<SimulatedAgentOptions, 'url' | 'deployment' | 'cores' | 'outputBytesPerS'> {
  /** Database for join tokens. */
  databaseUrl: string;
  agents: number;
  /** First part of the names of the hosts. Default: `host`. */
  prefix?: string;
  /** Total number of services that the agents run. */
  services: number;
  /** True if every started service exits at once. Default: false. */
  ends?: boolean;
}

const MAX_MS = 180_000;

export class Agents {
  readonly #program: Program;
  #syncs = 0;
  #asked = 0;

  constructor(
    { url, name, databaseUrl }: Pick<Deployment, 'url' | 'name' | 'databaseUrl'>,
    load: Omit<AgentsLoad, 'url' | 'deployment' | 'databaseUrl'>,
  ) {
    const task: AgentsLoad = { url, deployment: name, databaseUrl, ...load };
    this.#program = startProgram(['tools/bench/programs/agents-program.ts', JSON.stringify(task)]);
  }

  /** Until all agents have a complete sync: the first one, and one more after each `drop`. */
  async synced(): Promise<void> {
    this.#syncs += 1;
    await this.#program.waitFor(new RegExp(`(^synced$[^]*){${this.#syncs}}`, 'm'), MAX_MS);
  }

  /** Until all services run. */
  async run(): Promise<void> {
    await this.#program.waitFor(/^runs$/m, MAX_MS);
  }

  /** Until the control plane has acknowledged the end of all services: seconds since the first submission. */
  async ended(limitMs: number): Promise<number> {
    const [, seconds] = await this.#program.waitFor(/^ended in (\S+) s$/m, limitMs);
    return Number(seconds);
  }

  /** Drops the connections of all agents at once. */
  drop(): void {
    process.kill(this.#program.pid, 'SIGUSR2');
  }

  /** How many services run, how many were ever started twice, and the starts since the last call. */
  async summary(): Promise<{ running: number; twice: number; starts: number; p99Ms: number }> {
    this.#asked += 1;
    process.kill(this.#program.pid, 'SIGHUP');
    const pattern = `(?:^(\\d+) run, (\\d+) twice, p99 (\\S+) of (\\d+)$[^]*){${this.#asked}}`;
    const found = await this.#program.waitFor(new RegExp(pattern, 'm'));
    const [, running = 0, twice = 0, p99Ms = 0, starts = 0] = found.map(Number);
    return { running, twice, starts, p99Ms };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#program.kill();
  }
}
