/** A libSQL server behind a proxy that delays each answer, and counts round trips. */
import { createServer, request, type Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../tools/eventually.ts';
import { listenOn } from './port.ts';
import { startSqld } from './sqld.ts';

export interface DistantDatabase {
  /** For the control plane. */
  url: string;
  /**
   * Runs `work`, and resolves to the round trips that it took. Requests that overlap count as one, and one
   * that is under way when `work` is done does not count. Nothing else may use the database meanwhile.
   */
  roundTripsOf(work: () => Promise<unknown>): Promise<number>;
  stop(): Promise<void>;
}

/** `delayMs` passes between the answer of the server and that of the proxy. */
export async function startDistantDatabase(delayMs: number): Promise<DistantDatabase> {
  const database = await startSqld();
  const target = new URL(database.url);
  let open = 0;
  let trips = 0;
  const server: Server = createServer(async (incoming, outgoing) => {
    if (open === 0) trips += 1;
    open += 1;
    outgoing.once('close', () => {
      open -= 1;
    });
    const { method, url: path, headers } = incoming;
    const { hostname, port } = target;
    const forwarded = request({ hostname, port, method, path, headers }, async (answer) => {
      await delay(delayMs);
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    forwarded.once('error', () => outgoing.destroy());
    incoming.pipe(forwarded);
  });
  return {
    url: `http://127.0.0.1:${await listenOn(server)}`,
    async roundTripsOf(work) {
      await eventually(() => open === 0);
      trips = 0;
      await work();
      return open === 0 ? trips : trips - 1;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await database.stop();
    },
  };
}
