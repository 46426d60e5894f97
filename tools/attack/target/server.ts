/** A server of this machine, which an attack tries to reach. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Target } from './target.ts';

/** Serves until the end of the attack. Resolves to the port; by default, any that is free. */
export async function serveDuring(
  target: Target,
  answer: RequestListener,
  address: string,
  port = 0,
): Promise<number> {
  const server = createServer(answer).listen(port, address);
  await once(server, 'listening');
  target.ofAttack.add(async () => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
