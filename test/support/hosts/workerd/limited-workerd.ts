/**
 * The bundle for Cloudflare on workerd itself, without wrangler, and with flags of V8: its heap can be as
 * small as at Cloudflare. The libSQL server is a process of its own.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { scratchFolder } from '../../tools/folder.ts';
import { residentBytes } from '../memory.ts';
import { canConnect, freePort } from '../port.ts';
import { type Program, startCommand } from '../process.ts';
import { type Sqld, startSqld } from '../sqld.ts';
import { bundleInto } from './worker-bundle.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
const ASSETS = join(ROOT, '.wrangler/assets');
const MAKE_ASSETS = 'control-plane/local/assets/make-worker-assets.ts';
const run = promisify(execFile);
/** The command `workerd` is a script that would wait as a further process of Node. */
const { default: WORKERD } = createRequire(import.meta.url)('workerd') as { default: string };

export interface LimitedWorkerd {
  /** Base URL of the first isolate. Changes with each start, unless `keepPorts` is set. */
  url(): string;
  urls(): readonly string[];
  program(): Program;
  residentMb(): Promise<number>;
  /** Sends SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again. Resolves once the first isolate answers `readyPath`, or accepts connections. */
  start(): Promise<void>;
  /** The libSQL server that was started with it. */
  database: Sqld;
  databaseUrl: string;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
}

export interface LimitedWorkerdOptions {
  /** Isolates that serve requests, each at a URL of its own. The first one has the objects. Default: 1. */
  isolates?: number;
  /** True if each start has the ports of the first one. */
  keepPorts?: boolean;
  /** Further arguments of workerd. */
  args?: readonly string[];
  /** Worker in place of the one of wrangler.toml: a file with the name worker.ts. */
  entry?: string;
  /** What a start waits for; undefined: connections. Default: that the control plane is ready. */
  readyPath?: string | undefined;
}

const DEFAULTS = { readyPath: '/readyz' };

/** `settings` may name another libSQL server than the one that this starts. */
export async function startLimitedWorkerd(
  v8Flags: readonly string[],
  settings: Record<string, string>,
  options: LimitedWorkerdOptions = {},
): Promise<LimitedWorkerd> {
  const { isolates = 1, keepPorts = false, args = [], entry, readyPath } = { ...DEFAULTS, ...options };
  const folder = await scratchFolder('berth-limited-');
  await bundleInto(folder, entry);
  const assets = await assetsFor(folder, settings.BERTH_AGENT_RELEASE);
  const objects = join(folder, 'objects');
  await mkdir(objects);
  const database = await startSqld();
  const vars = { BERTH_DATABASE_URL: database.url, ...settings };
  let program: Program;
  let ports: number[] = [];
  let urls: readonly string[] = [];
  const start = async () => {
    if (!keepPorts) ports = [];
    while (ports.length < isolates) ports.push(await freePort());
    urls = ports.map((port) => `http://127.0.0.1:${port}`);
    await writeFile(join(folder, 'config.capnp'), configOf({ objects, assets }, ports, v8Flags, vars));
    program = startCommand([WORKERD, 'serve', 'config.capnp', '--experimental', ...args], { cwd: folder });
    await program.waitUntil(async () => {
      if (program.ended !== undefined) return undefined;
      // A request would wake what sleeps.
      if (readyPath === undefined) return canConnect(ports[0] ?? 0);
      const response = await fetch(`${urls[0]}${readyPath}`);
      if (!response.ok) throw new Error(await response.text());
      return response;
    });
    if (program.ended !== undefined) throw new Error(`workerd has ended:\n${program.output}`);
  };
  const kill = async () => {
    if (program.ended === undefined) await program.kill();
  };
  await start();
  return {
    url: () => urls[0] ?? '',
    urls: () => urls,
    program: () => program,
    residentMb: async () => (await residentBytes(program.pid)) / 2 ** 20,
    kill,
    start,
    database,
    databaseUrl: database.url,
    async stop() {
      await kill();
      await database.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The assets of all tests, or as a deployment with this signed agent makes them. */
async function assetsFor(folder: string, signedAgent: string | undefined): Promise<string> {
  if (signedAgent === undefined) return ASSETS;
  const assets = join(folder, 'assets');
  await cp(ASSETS, assets, { recursive: true, preserveTimestamps: true });
  const env = { ...process.env, BERTH_AGENT_RELEASE: signedAgent };
  await run(process.execPath, [join(ROOT, MAKE_ASSETS), assets], { cwd: ROOT, env });
  return assets;
}

const text = (value: string) => JSON.stringify(value);

interface Folders {
  objects: string;
  assets: string;
}

function configOf(
  folders: Folders,
  ports: readonly number[],
  v8Flags: readonly string[],
  settings: Record<string, string>,
): string {
  const names = ports.map((_, at) => `berth${at}`);
  const services = names.map((name) => `(name = ${text(name)}, worker = .${name}),`);
  const sockets = ports.map(
    (port, at) =>
      `(name = "http${at}", address = "127.0.0.1:${port}", http = (), service = ${text(`berth${at}`)}),`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    ${services.join('\n    ')}
    (name = "assets", disk = (path = ${text(folders.assets)})),
    (name = "objects", disk = (path = ${text(folders.objects)}, writable = true)),
    (name = "internet", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [
    ${sockets.join('\n    ')}
  ],
  v8Flags = [${v8Flags.map(text).join(', ')}],
);
${names.map((name, at) => workerOf(name, at === 0, settings)).join('\n')}`;
}

/** Bindings and classes of the Durable Objects. */
const objects = [
  ['COORDINATOR', 'CoordinatorObject'],
  ['GATEWAY', 'GatewayObject'],
] as const;

/** The first worker has the objects; the others use them. */
function workerOf(name: string, hasObjects: boolean, settings: Record<string, string>): string {
  const vars = Object.entries(settings).map(
    ([key, value]) => `(name = ${text(key)}, text = ${text(value)}),`,
  );
  const bindingOf = (binding: string, className: string) => {
    const elsewhere = `(className = ${text(className)}, serviceName = "berth0")`;
    return `(name = ${text(binding)}, durableObjectNamespace = ${hasObjects ? text(className) : elsewhere}),`;
  };
  const namespaceOf = ([binding, className]: readonly [string, string]) =>
    `(className = ${text(className)}, uniqueKey = ${text(binding.toLowerCase())}, enableSql = true),`;
  return `const ${name} :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-10-01",
  compatibilityFlags = ["nodejs_compat", "enable_request_signal"],
  bindings = [
    ${objects.map(([binding, className]) => bindingOf(binding, className)).join('\n    ')}
    (name = "ASSETS", service = "assets"),
    ${vars.join('\n    ')}
  ],
  ${
    hasObjects
      ? `durableObjectNamespaces = [
    ${objects.map(namespaceOf).join('\n    ')}
  ],
  durableObjectStorage = (localDisk = "objects"),`
      : ''
  }
);`;
}
