/** Finds a free port for programs that cannot choose one themselves. */
import { once } from 'node:events';
import { createServer } from 'node:net';

/** A loopback port that was free a moment ago. Another process may take the port before the caller does. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('the system assigned no port');
  return address.port;
}
