/** Programs that tests run as child processes. No program outlives the process that runs the test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { eventually } from '../tools/eventually.ts';
import { NODE_COMPILE_CACHE } from '../tools/tool.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const MAX_OUTPUT_CHARS = 2 ** 20;

export interface ProgramOptions {
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** Opens a channel for messages to and from a program of Node. */
  hasChannel?: boolean;
}

/** The variable with the folder of bundled programs (program-bundles.ts). */
export const PROGRAM_BUNDLES = 'BERTH_TEST_PROGRAMS';

/** What to run for a TypeScript file of this repository: its bundle, if there is one. */
export function programPath(file: string): string {
  const folder = process.env[PROGRAM_BUNDLES];
  const bundle = folder ? resolve(folder, file.replace(/\.ts$/, '.mjs')) : '';
  return existsSync(bundle) ? bundle : sourcePath(file);
}

export const sourcePath = (file: string): string => resolve(ROOT, file);

/** Starts a TypeScript file of this repository with Node, e.g. `startProgram(['agent/main.ts'])`. */
export const startProgram = ([file = '', ...args]: string[], options: ProgramOptions = {}): Program =>
  new Program(process.execPath, [programPath(file), ...args], options);

/** Starts any executable. Those in node_modules/.bin are found by name. */
export const startCommand = ([file = '', ...args]: string[], options: ProgramOptions = {}): Program =>
  new Program(file, args, options);

export class Program {
  readonly #child: ChildProcess;
  readonly #command: string;
  /** Both output streams in order of arrival; at most the last MiB. */
  output = '';
  #failure: Error | undefined;

  constructor(file: string, args: string[], { env = {}, cwd = ROOT, hasChannel }: ProgramOptions) {
    this.#command = [file, ...args].join(' ');
    const path = `${ROOT}/node_modules/.bin:${process.env.PATH}`;
    this.#child = spawn(file, args, {
      cwd,
      env: { ...process.env, PATH: path, NODE_COMPILE_CACHE, ...env },
      stdio: ['ignore', 'pipe', 'pipe', ...(hasChannel ? ['ipc' as const] : [])],
      // Makes a process group, so that the program's children can be killed with it after the tests.
      detached: true,
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output = (this.output + text).slice(-MAX_OUTPUT_CHARS);
      });
    }
    this.#child.on('error', (error) => {
      this.#failure = error;
    });
    const { pid } = this.#child;
    if (pid === undefined) return;
    groups.add(pid);
    this.#child.once('exit', forgetEnded);
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw this.#error('has not started');
    return this.#child.pid;
  }

  /** Sends a message and waits for the next one from the program. Throws if the program ends first. */
  async request(message: object, timeoutMs: number): Promise<unknown> {
    let answer: unknown;
    const note = (received: unknown) => {
      answer = received;
    };
    this.#child.once('message', note).send(message);
    try {
      await this.#eventually('answer', timeoutMs, () => (this.ended === undefined ? answer : null));
    } finally {
      this.#child.off('message', note);
    }
    if (answer === undefined) throw this.#error(`ended (${this.ended}) without an answer`);
    return answer;
  }

  /** Exit code, or the signal that ended the program; undefined while it runs. */
  get ended(): number | NodeJS.Signals | undefined {
    return this.#child.exitCode ?? this.#child.signalCode ?? undefined;
  }

  /** Waits until the output matches. Throws at once if the program ends first. */
  async waitFor(pattern: RegExp, timeoutMs = 60_000): Promise<RegExpMatchArray> {
    const match = await this.#eventually(`print ${pattern}`, timeoutMs, () => {
      const ended = this.ended !== undefined || this.#failure !== undefined;
      return this.output.match(pattern) ?? (ended ? null : undefined);
    });
    if (!match) throw this.#error(`ended (${this.ended}) without printing ${pattern}`);
    return match;
  }

  /** Waits until `probe` succeeds. The error of a timeout includes the program's output. */
  waitUntil<T>(probe: () => T | Promise<T>, timeoutMs = 60_000): Promise<T> {
    return this.#eventually('become ready', timeoutMs, probe);
  }

  async waitForEnd(timeoutMs = 60_000): Promise<number | NodeJS.Signals> {
    const end = await this.#eventually('end', timeoutMs, () => this.ended);
    if (end === undefined) throw this.#error('has not ended');
    return end;
  }

  /** Sends SIGTERM and waits. Throws if the program does not end in time. */
  async stop(timeoutMs = 60_000): Promise<number | NodeJS.Signals> {
    this.#child.kill('SIGTERM');
    return this.waitForEnd(timeoutMs);
  }

  /** Sends SIGKILL to this process only. Its children continue, as after a crash. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.waitForEnd();
  }

  /** Sends SIGKILL to this process and all its children at once, if it has not ended. */
  async killAll(): Promise<void> {
    if (this.ended === undefined) process.kill(-this.pid, 'SIGKILL');
    await this.waitForEnd();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #eventually<T>(what: string, timeoutMs: number, probe: () => T | Promise<T>): Promise<T> {
    try {
      return await eventually(probe, timeoutMs);
    } catch (cause) {
      throw this.#error(`did not ${what} within ${timeoutMs} ms`, cause);
    }
  }

  #error(what: string, cause: unknown = this.#failure): Error {
    const reason = cause instanceof Error ? ` (${cause.message})` : '';
    return new Error(`${this.#command} ${what}${reason}. Its output:\n${this.output}`, { cause });
  }
}

/** Calls `cleanUp` when this process ends, including by a signal. `cleanUp` must be synchronous. */
export function atProcessEnd(cleanUp: () => void): void {
  cleanUps.push(cleanUp);
}

/** Process groups of programs, by the id of their first process. Children may outlive it. */
const groups = new Set<number>();
const cleanUps: (() => void)[] = [killGroups];

/** An id must not be kept after its group: the kernel soon gives it to another process, of another test. */
function forgetEnded(): void {
  for (const group of groups) if (!signals(group, 0)) groups.delete(group);
}

function killGroups(): void {
  for (const group of groups) signals(group, 'SIGKILL');
}

/** False if the whole group has ended. */
function signals(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    return false;
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
