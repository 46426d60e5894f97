/** Ports of loopback: free ones, for programs that cannot choose one themselves, and those of servers. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { succeeds } from '../tools/succeeds.ts';

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

/** Listens on a free port, with a backlog for thousands of simultaneous clients. Resolves to the port. */
export async function listenOn(server: Server): Promise<number> {
  await once(server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }), 'listening');
  return portOf(server);
}

export const portOf = (server: Server): number => (server.address() as AddressInfo).port;

/** Whether something listens on a port. Sends nothing. */
export async function canConnect(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return succeeds(once(socket, 'connect')).finally(() => socket.destroy());
}
