/** A server on loopback that is closed when the test has finished. */
import { Server as HttpServer } from 'node:http';
import type { Server } from 'node:net';
import { onTestFinished } from 'vitest';
import { listenOn } from '../hosts/port.ts';

/** Resolves to the port at which the server listens. */
export async function serving(server: Server): Promise<number> {
  const port = await listenOn(server);
  onTestFinished(() => {
    if (server instanceof HttpServer) server.closeAllConnections();
    server.close();
  });
  return port;
}
