/** Owns programs of ours that a test runs as child processes. None of them outlives the process that runs the test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { eventually } from '../tools/eventually.ts';
import { NODE_COMPILE_CACHE } from '../tools/tool.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const OUTPUT_LIMIT = 2 ** 20;

export interface ProgramOptions {
  env?: NodeJS.ProcessEnv;
  cwd?: string;
}

/** Starts a TypeScript file of this repository by Node, e.g. `startProgram(['agent/main.ts'])`. */
export const startProgram = ([file = '', ...args]: string[], options: ProgramOptions = {}): Program =>
  new Program(process.execPath, [resolve(ROOT, file), ...args], options);

/** Starts any executable; those of node_modules/.bin are found by their plain names. */
export const startCommand = ([file = '', ...args]: string[], options: ProgramOptions = {}): Program =>
  new Program(file, args, options);

export class Program {
  readonly #child: ChildProcess;
  readonly #command: string;
  #output = '';
  #failure: Error | undefined;

  constructor(file: string, args: string[], { env = {}, cwd = ROOT }: ProgramOptions) {
    this.#command = [file, ...args].join(' ');
    const path = `${ROOT}/node_modules/.bin:${process.env.PATH}`;
    this.#child = spawn(file, args, {
      cwd,
      env: { ...process.env, PATH: path, NODE_COMPILE_CACHE, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A process group of its own, so that its children can be killed with it at the end of the tests.
      detached: true,
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-OUTPUT_LIMIT);
      });
    }
    this.#child.on('error', (error) => {
      this.#failure = error;
    });
    leftovers.add(this.#child);
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw this.#error('has not started');
    return this.#child.pid;
  }

  /** Both output streams as they came, at most the last MiB. */
  get output(): string {
    return this.#output;
  }

  /** Exit code, or the signal that ended it; undefined while it runs. */
  get ended(): number | NodeJS.Signals | undefined {
    return this.#child.exitCode ?? this.#child.signalCode ?? undefined;
  }

  /** Waits until the output matches; fails at once when the program ends before. */
  async waitFor(pattern: RegExp, timeoutMs = 20_000): Promise<RegExpMatchArray> {
    const match = await this.#eventually(`to print ${pattern}`, timeoutMs, () => {
      const ended = this.ended !== undefined || this.#failure !== undefined;
      return this.#output.match(pattern) ?? (ended ? null : undefined);
    });
    if (!match) throw this.#error(`ended (${this.ended}) without printing ${pattern}`);
    return match;
  }

  /** Waits until a condition outside holds; its failure comes with the program's output. */
  waitUntil<T>(probe: () => T | Promise<T>, timeoutMs = 20_000): Promise<T> {
    return this.#eventually('to become ready', timeoutMs, probe);
  }

  async waitForEnd(timeoutMs = 20_000): Promise<number | NodeJS.Signals> {
    const end = await this.#eventually('to end', timeoutMs, () => this.ended);
    if (end === undefined) throw this.#error('has not ended');
    return end;
  }

  /** SIGTERM, and the end of it; an error when it does not end in time. */
  async stop(timeoutMs = 20_000): Promise<number | NodeJS.Signals> {
    this.#child.kill('SIGTERM');
    return this.waitForEnd(timeoutMs);
  }

  /** SIGKILL to this process alone: its own children are left to themselves, as after a crash. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.waitForEnd();
  }

  async #eventually<T>(what: string, timeoutMs: number, probe: () => T | Promise<T>): Promise<T> {
    try {
      return await eventually(probe, timeoutMs);
    } catch (cause) {
      throw this.#error(`was given ${timeoutMs} ms ${what}`, cause);
    }
  }

  #error(what: string, cause: unknown = this.#failure): Error {
    const reason = cause instanceof Error ? ` (${cause.message})` : '';
    return new Error(`${this.#command} ${what}${reason}. Its output:\n${this.#output}`, { cause });
  }
}

/**
 * Calls back when this process ends, also by a signal, to end what would outlive it. Nothing asynchronous gets done
 * any more by then.
 */
export function atProcessEnd(cleanUp: () => void): void {
  cleanUps.push(cleanUp);
}

const leftovers = new Set<ChildProcess>();
const cleanUps: (() => void)[] = [killLeftovers];

function killLeftovers(): void {
  for (const { pid } of leftovers) {
    try {
      if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    } catch {
      // The whole group has ended.
    }
  }
}

const cleanUpAll = (): void => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
};

process.once('exit', cleanUpAll);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    cleanUpAll();
    process.kill(process.pid, signal);
  });
}
