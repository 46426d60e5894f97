/** Another web site: pages on a port of its own, which the browser reaches under any name of loopback. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { listenOn } from '../hosts/port.ts';

export interface ForeignSite {
  port: number;
  /** Serves this body as the page from now on. */
  show(body: string): void;
  close(): Promise<void>;
}

export async function startForeignSite(): Promise<ForeignSite> {
  let shown = '';
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(`<!doctype html><title>Foreign</title>${shown}`);
  });
  return {
    port: await listenOn(server),
    show(body) {
      shown = body;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
