/** Finds a free port for programs that cannot choose one themselves. */
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports of outgoing connections, which could take one before its program starts again. */
const [FIRST, COUNT] = [10_000, 20_000];

/** A loopback port that was free a moment ago. Another process may take the port before the caller does. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(COUNT * Math.random());
    const server = createServer().listen(port, '127.0.0.1');
    try {
      await once(server, 'listening');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') continue;
      throw error;
    }
    server.close();
    await once(server, 'close');
    return port;
  }
}
