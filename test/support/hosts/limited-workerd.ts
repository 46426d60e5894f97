/**
 * The bundle for Cloudflare on workerd itself, without wrangler, and with flags of V8: its heap can be as
 * small as at Cloudflare. The libSQL server is a process of its own.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { scratchFolder } from '../tools/folder.ts';
import { readTool } from '../tools/tool.ts';
import { residentBytes } from './memory.ts';
import { freePort } from './port.ts';
import { type Program, startCommand } from './process.ts';
import { startSqld } from './sqld.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const MAX_START_MS = 30_000;

export interface LimitedWorkerd {
  /** Changes with each start. */
  url(): string;
  program(): Program;
  /** The process of workerd, which may be a child of the program. */
  pid(): Promise<number>;
  residentMb(): Promise<number>;
  /** Sends SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again on the same data. Resolves once it answers. */
  start(): Promise<void>;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
}

export async function startLimitedWorkerd(
  v8Flags: readonly string[],
  settings: Record<string, string>,
): Promise<LimitedWorkerd> {
  const folder = await scratchFolder('berth-limited-');
  await readTool('wrangler', ['deploy', '--dry-run', '--outdir', folder]);
  const database = await startSqld();
  const vars = { BERTH_DATABASE_URL: database.url, ...settings };
  let program: Program;
  let url = '';
  const start = async () => {
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    await writeFile(join(folder, 'config.capnp'), configOf(port, v8Flags, vars));
    program = startCommand(['workerd', 'serve', 'config.capnp', '--experimental'], { cwd: folder });
    await program.waitUntil(async () => {
      if (program.ended !== undefined) return undefined;
      const response = await fetch(`${url}/readyz`);
      if (!response.ok) throw new Error(await response.text());
      return response;
    }, MAX_START_MS);
    if (program.ended !== undefined) throw new Error(`workerd has ended:\n${program.output}`);
  };
  const kill = async () => {
    // The program that npm installs is a script, whose child would outlive it.
    if (program.ended === undefined) process.kill(-program.pid, 'SIGKILL');
    await program.waitForEnd();
  };
  const stop = async () => {
    await kill();
    await database.stop();
    await rm(folder, { recursive: true, force: true });
  };
  await start();
  const pid = async () => {
    const { pid } = program;
    const child = Number((await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).split(' ')[0]);
    return child || pid;
  };
  const residentMb = async () => (await residentBytes(await pid())) / 2 ** 20;
  return { url: () => url, program: () => program, pid, residentMb, kill, start, stop };
}

function configOf(port: number, v8Flags: readonly string[], settings: Record<string, string>): string {
  const text = (value: string) => JSON.stringify(value);
  const bindings = Object.entries(settings).map(
    ([name, value]) => `(name = ${text(name)}, text = ${text(value)}),`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .berth),
    (name = "assets", disk = (path = ${text(join(ROOT, '.wrangler/assets'))})),
    (name = "internet", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
  v8Flags = [${v8Flags.map(text).join(', ')}],
);
const berth :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-10-01",
  compatibilityFlags = ["nodejs_compat"],
  bindings = [
    (name = "COORDINATOR", durableObjectNamespace = "CoordinatorObject"),
    (name = "ASSETS", service = "assets"),
    ${bindings.join('\n    ')}
  ],
  durableObjectNamespaces = [(className = "CoordinatorObject", uniqueKey = "coordinator", enableSql = true)],
  durableObjectStorage = (inMemory = void),
);
`;
}
