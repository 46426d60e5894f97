/** Parts of a Berth that a test can kill and start one by one. Each part is a process. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Program, startCommand, startProgram } from '../hosts/process.ts';
import { eventually } from '../tools/eventually.ts';
import { scratchFolder } from '../tools/folder.ts';
import { pickOne } from '../tools/random.ts';

export interface Part {
  readonly name: string;
  kill(): Promise<void>;
  /** Resolves when the part is ready. */
  start(): Promise<void>;
}

const START_MS = 60_000;

export class ProgramPart implements Part {
  readonly name: string;
  readonly #start: () => Program;
  readonly #ready: RegExp;
  #program: Program | undefined;

  constructor(name: string, start: () => Program, ready: RegExp) {
    this.name = name;
    this.#start = start;
    this.#ready = ready;
  }

  get program(): Program {
    if (!this.#program) throw new Error(`${this.name} has not been started`);
    return this.#program;
  }

  /** Tries again until it is ready, as a supervisor does. Parts that it needs may be down at first. */
  async start(): Promise<void> {
    this.#program = await eventually(async () => {
      const program = this.#start();
      try {
        await program.waitFor(this.#ready, START_MS);
        return program;
      } catch (error) {
        await program.killAll();
        throw error;
      }
    }, START_MS);
  }

  /** Kills its children too, since workerd would outlive wrangler. */
  async kill(): Promise<void> {
    await this.program.killAll();
  }

  async stop(): Promise<void> {
    await this.program.stop();
  }
}

export type Settings = Record<string, string>;

export const nodeControlPlane = (env: Settings): ProgramPart =>
  new ProgramPart('control plane', () => startProgram(['control-plane/node.ts'], { env }), /listens on/);

/** `folder` receives its settings and its state. */
export async function workerdControlPlane(folder: string, port: number, env: Settings): Promise<ProgramPart> {
  const vars = join(folder, 'vars');
  const lines = Object.entries(env).map(([name, value]) => `${name}=${JSON.stringify(value)}\n`);
  await writeFile(vars, lines.join(''));
  const listen = ['--ip', '127.0.0.1', '--port', String(port), '--inspector-port', '0'];
  const state = ['--persist-to', join(folder, 'state'), '--env-file', vars];
  const quiet = ['--show-interactive-dev-session=false', '--log-level', 'log'];
  const start = () =>
    startCommand(['wrangler', 'dev', ...listen, ...state, ...quiet], {
      env: { WRANGLER_SEND_METRICS: 'false', CLOUDFLARE_CF_FETCH_ENABLED: 'false', NO_COLOR: '1' },
    });
  return new ProgramPart('control plane', start, /Ready on/);
}

/**
 * Kills and restarts one part after another, at moments drawn by `random`, until `signal` aborts and each
 * part has been killed. All parts run at the end.
 */
export async function killAtRandom(
  parts: readonly Part[],
  random: () => number,
  signal: AbortSignal,
  log: (line: string) => void,
): Promise<void> {
  const spared = new Set(parts);
  while (!signal.aborted || spared.size > 0) {
    const part = pickOne(random, signal.aborted ? [...spared] : parts);
    if (!part) return;
    await pause(500 + random() * 2_500);
    log(`kill ${part.name}`);
    await part.kill();
    spared.delete(part);
    await pause(random() * 1_500);
    await part.start();
  }
}

export async function withFolder<T>(run: (folder: string) => Promise<T>): Promise<T> {
  const folder = await scratchFolder('berth-chaos-');
  try {
    return await run(folder);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
