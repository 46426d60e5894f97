/**
 * A real libSQL server for tests, on a free loopback port with a folder of its own. Both are removed at the
 * end, unless the test process is killed.
 */
import { rm } from 'node:fs/promises';
import { scratchFolder } from '../tools/folder.ts';
import { freePort } from './port.ts';
import { type Program, startCommand } from './process.ts';

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
  const folder = await scratchFolder('berth-sqld-');
  let { port, server } = await startOnFreePort(folder);
  // A graceful end would wait for running queries.
  const kill = () => server.kill();
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

async function startOnFreePort(folder: string): Promise<{ port: number; server: Program }> {
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
async function start(folder: string, port: number): Promise<Program> {
  const listen = ['--http-listen-addr', `127.0.0.1:${port}`];
  const server = startCommand(['sqld', ...listen, '-d', folder, '--no-welcome']);
  await server.waitFor(/listening for incoming user HTTP connection/);
  return server;
}
