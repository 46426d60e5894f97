/**
 * A temporary copy of the checkout's HEAD, in which changes are checked and tested. Never writes to the
 * checkout. `node_modules` is a folder of links, so that caches and bundles of changed sources stay in the
 * copy.
 */
import { execFileSync, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { connectEngine, pingEngine, usualHosts } from '../../agent/engine/engine-address.ts';
import { removeKilledRuns } from '../../test/support/engines/leftovers.ts';
import { type Change, changed, type Source } from './draw.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const FOLDERS = ['agent', 'control-plane/coordinator', 'control-plane/store'];
const CACHES = /^\.(?!bin$|package-lock)/;
/** `npm test` stops its programs and engine within this time of an interrupt. */
const STOP_MS = 60_000;

export const head = (): string =>
  execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim();

export interface Run {
  isGreen: boolean;
  output: string;
}

export class Copy {
  readonly #tree: string;
  #hasTested = false;

  private constructor(tree: string) {
    this.#tree = tree;
  }

  static async create(): Promise<Copy> {
    const tree = await mkdtemp(join(tmpdir(), 'berth-mutants-'));
    execFileSync('git', ['clone', '--quiet', '--shared', '--no-checkout', ROOT, tree]);
    execFileSync('git', ['checkout', '--quiet', '--detach', head()], { cwd: tree });
    mkdirSync(join(tree, 'node_modules'));
    for (const name of readdirSync(join(ROOT, 'node_modules')))
      if (!CACHES.test(name)) symlinkSync(join(ROOT, 'node_modules', name), join(tree, 'node_modules', name));
    return new Copy(tree);
  }

  sources(): Source[] {
    const files = execFileSync('git', ['ls-files', ...FOLDERS], { cwd: this.#tree, encoding: 'utf8' });
    const paths = files.split('\n').filter((path) => path.endsWith('.ts'));
    return paths.map((path) => ({ path, text: readFileSync(join(this.#tree, path), 'utf8') }));
  }

  /** Applies a change, formatted, for as long as `during` runs. */
  async with<T>(change: Change, during: () => Promise<T>): Promise<T> {
    const file = join(this.#tree, change.path);
    const text = readFileSync(file, 'utf8');
    try {
      writeFileSync(file, changed(text, change));
      await this.#run('biome', ['format', '--write', change.path]);
      return await during();
    } finally {
      writeFileSync(file, text);
    }
  }

  /** Whether linter and type checker accept a change. If not, finding it proves nothing about the tests. */
  async accepts(change: Change): Promise<boolean> {
    const [part = ''] = change.path.split('/');
    const state = [
      '--incremental',
      '--tsBuildInfoFile',
      join(this.#tree, 'node_modules/.cache', `${part}.tsbuildinfo`),
    ];
    return this.with(change, async () => {
      const linted = await this.#run('biome', ['check', '--error-on-warnings', change.path]);
      return linted.isGreen && (await this.#run('tsc', ['-p', part, ...state])).isGreen;
    });
  }

  /** The unit tests nearest to a source: those of its folder, or of the next folder above that has any. */
  nearestTests(path: string): string {
    const folder = dirname(`test/unit/${path.replace('control-plane/', '')}`);
    const above = (one: string): string => (existsSync(join(this.#tree, one)) ? one : above(dirname(one)));
    return above(folder);
  }

  npm(args: readonly string[], signal: AbortSignal): Promise<Run> {
    this.#hasTested = true;
    return this.#run('npm', args, signal);
  }

  /**
   * Removes the copy. Once tests have run, also removes the containers of tests from this machine's engine,
   * as `npm test` does before it begins. This includes those of another run at the same time.
   */
  async remove(): Promise<void> {
    await rm(this.#tree, { recursive: true, force: true });
    if (!this.#hasTested) return;
    const hosts = process.env.DOCKER_HOST ? [process.env.DOCKER_HOST] : usualHosts(process.env);
    for (const host of hosts) if (!(await pingEngine(host))) await removeKilledRuns(connectEngine(host));
  }

  /** The first failure that `npm test` has named. */
  failureIn(output: string): string {
    const lines = output.replaceAll(`${this.#tree}/`, '').trim().split('\n');
    return (lines.find((line) => line.startsWith('FAILED ')) ?? lines.at(-1) ?? '').replace('FAILED ', '');
  }

  /** Runs a program in a process group, which an abort interrupts and later kills. */
  #run(file: string, args: readonly string[], signal?: AbortSignal): Promise<Run> {
    const env = { ...process.env, PATH: `${this.#tree}/node_modules/.bin:${process.env.PATH}` };
    const child = spawn(file, args, {
      cwd: this.#tree,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (part: string) => {
        output += part;
      });
    const end = (how: NodeJS.Signals) => kill(-(child.pid ?? 0), how);
    let killing: NodeJS.Timeout | undefined;
    const stop = () => {
      end('SIGINT');
      killing = setTimeout(end, STOP_MS, 'SIGKILL');
    };
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop, { once: true });
    return new Promise<Run>((done, fail) => {
      child.once('error', fail);
      child.once('exit', () => this.#killLeft());
      child.once('close', (code) => done({ isGreen: code === 0, output }));
    }).finally(() => {
      clearTimeout(killing);
      signal?.removeEventListener('abort', stop);
    });
  }

  /** Kills processes that still run in the copy or from it (Linux). */
  #killLeft(): void {
    const pids = existsSync('/proc/self') ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : [];
    for (const pid of pids) {
      try {
        const places = [readlinkSync(`/proc/${pid}/cwd`), readFileSync(`/proc/${pid}/cmdline`, 'utf8')];
        if (places.some((place) => place.includes(this.#tree))) kill(Number(pid), 'SIGKILL');
      } catch {
        // The process has ended, or belongs to another user.
      }
    }
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has just ended.
  }
}
