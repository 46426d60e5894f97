/**
 * Ports of the host for a container that publishes on all of its addresses. An engine that picks them itself
 * may give IPv4 and IPv6 different ones, of which only one can be shown (P303).
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

interface Held {
  port: number;
  release(): void;
}

/**
 * One for each of the wanted, free in both families on this machine. The kernel picks them from the range
 * from which the engine takes its own. One may be taken by the time the container starts.
 */
export async function freeHostPorts(wanted: readonly { protocol: 'tcp' | 'udp' }[]): Promise<number[]> {
  const held: Held[] = [];
  try {
    // All are held until the last one is there, so that no two are the same.
    for (const { protocol } of wanted) held.push(await hold(protocol));
    return held.map(({ port }) => port);
  } finally {
    for (const one of held) one.release();
  }
}

/** On a machine without IPv6, free in IPv4. */
const hold = (protocol: 'tcp' | 'udp'): Promise<Held> => {
  const holder = protocol === 'tcp' ? holdTcp : holdUdp;
  return holder('::').catch(() => holder('0.0.0.0'));
};

async function holdTcp(host: string): Promise<Held> {
  const server = createServer().listen({ host, port: 0 });
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, release: () => server.close() };
}

async function holdUdp(address: string): Promise<Held> {
  const socket = createSocket(address === '::' ? 'udp6' : 'udp4').bind({ address, port: 0 });
  try {
    await once(socket, 'listening');
  } catch (error) {
    socket.close();
    throw error;
  }
  return { port: socket.address().port, release: () => socket.close() };
}
