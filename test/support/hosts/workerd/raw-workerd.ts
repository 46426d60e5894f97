/** workerd itself, without wrangler, with a configuration of the test. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { join } from 'node:path';
import { residentBytes } from '../memory.ts';
import { freePort } from '../port.ts';
import { type Program, startCommand } from '../process.ts';

const MAX_START_MS = 60_000;
/** The command `workerd` is a script that would wait as a further process of Node. */
const { default: WORKERD } = createRequire(import.meta.url)('workerd') as { default: string };

export interface RawWorkerd {
  /** Base URL of each socket of the configuration. They change with each start, unless `keepPorts` is set. */
  urls(): readonly string[];
  program(): Program;
  residentMb(): Promise<number>;
  /** Sends SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again. Resolves once the first socket answers `readyPath`, or accepts connections. */
  start(): Promise<void>;
}

export interface RawWorkerdOptions {
  /** Has what the configuration embeds. */
  folder: string;
  sockets: number;
  /** The configuration, in Cap'n Proto's text form, for the ports of the sockets. */
  configOf(ports: readonly number[]): string;
  /** Undefined if a start ends as soon as connections are accepted. */
  readyPath: string | undefined;
  /** True if each start has the ports of the first one. */
  keepPorts?: boolean;
  args?: readonly string[];
}

export async function startRawWorkerd(options: RawWorkerdOptions): Promise<RawWorkerd> {
  const { folder, sockets, configOf, readyPath, keepPorts = false, args = [] } = options;
  let program: Program;
  let ports: number[] = [];
  let urls: readonly string[] = [];
  const start = async () => {
    if (!keepPorts) ports = [];
    while (ports.length < sockets) ports.push(await freePort());
    urls = ports.map((port) => `http://127.0.0.1:${port}`);
    await writeFile(join(folder, 'config.capnp'), configOf(ports));
    program = startCommand([WORKERD, 'serve', 'config.capnp', '--experimental', ...args], { cwd: folder });
    await program.waitUntil(async () => {
      if (program.ended !== undefined) return undefined;
      if (readyPath === undefined) return connects(ports[0]);
      const response = await fetch(`${urls[0]}${readyPath}`);
      if (!response.ok) throw new Error(await response.text());
      return response;
    }, MAX_START_MS);
    if (program.ended !== undefined) throw new Error(`workerd has ended:\n${program.output}`);
  };
  const kill = async () => {
    if (program.ended === undefined) await program.kill();
  };
  await start();
  const residentMb = async () => (await residentBytes(program.pid)) / 2 ** 20;
  return { urls: () => urls, program: () => program, residentMb, kill, start };
}

/** Sends nothing: a request would wake what sleeps. */
async function connects(port = 0): Promise<true> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect').finally(() => socket.destroy());
  return true;
}
