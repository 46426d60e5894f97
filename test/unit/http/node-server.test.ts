import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { variants } from '../../../control-plane/http/variants/choose.ts';
import { httpServer, type ServerLimits } from '../../../control-plane/node-server.ts';
import { answerOn, dial } from '../../support/clients/raw-http.ts';
import { eventually } from '../../support/tools/eventually.ts';

/** None of these comes into play. */
const WIDE: ServerLimits = {
  headMs: 600_000,
  requestMs: 600_000,
  checkMs: 5,
  quietMs: 60_000,
  connections: 100,
};
const GET = 'GET / HTTP/1.1\r\nHost: berth\r\nConnection: close\r\n\r\n';

let server: Server;
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

/** Of a server whose app reads the body and answers with it. */
async function start(limits: Partial<ServerLimits>): Promise<(bytes: string) => Socket> {
  const fetch = async (request: Request) => new Response(await request.text());
  server = httpServer(fetch, {
    variant: variants.B,
    isUpgrade: () => false,
    limits: { ...WIDE, ...limits },
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return (bytes) => {
    const socket = dial(`http://127.0.0.1:${port}`, bytes);
    sockets.push(socket);
    return socket;
  };
}

test.each([
  ['a head that does not end', 'GET / HTTP/1.1\r\nHost: b', { headMs: 30 }],
  [
    'a body that does not come',
    'POST / HTTP/1.1\r\nHost: berth\r\nContent-Length: 9\r\n\r\n',
    { requestMs: 30, headMs: 30 },
  ],
  [
    'a body that does not end',
    'POST / HTTP/1.1\r\nHost: berth\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab',
    { requestMs: 30, headMs: 30 },
  ],
])('H191, H192: %s is 408 when its time is over', async (_, bytes, limits) => {
  const send = await start(limits);
  const reply = await answerOn(send(bytes));
  expect(reply).toMatchObject({
    status: 408,
    reason: 'The request is malformed: it did not arrive in time.',
  });
  expect(JSON.parse(reply.body)).toEqual({ message: reply.reason });
});

test('H192: peers that send half a request delay nobody', async () => {
  const send = await start({});
  for (let nth = 0; nth < 50; nth++) {
    send(nth % 2 ? 'GET / HT' : 'POST / HTTP/1.1\r\nHost: berth\r\nContent-Length: 9\r\n\r\nabc');
  }
  expect((await answerOn(send(GET))).status).toBe(200);
});

test('H192: connections beyond the limit are closed unanswered, and there is room when others leave', async () => {
  const send = await start({ connections: 2 });
  const open = (count: number) =>
    eventually(async () => (await promisify(server.getConnections.bind(server))()) === count);
  const earlier = [send('GET / HT'), send('GET / HT')];
  await open(2);
  const dropped = once(server, 'drop');
  const late = send(GET);
  await expect(answerOn(late)).rejects.toThrow();
  await dropped;
  for (const socket of earlier) socket.destroy();
  await open(0);
  expect((await answerOn(send(GET))).status).toBe(200);
});

/** Of a connection, as Linux tells: its two ports in hexadecimal, and 02 where it is watched while nothing comes. */
async function isWatched(localPort: number, peerPort: number): Promise<boolean> {
  const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0');
  const rows = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map((row) => row.trim().split(/\s+/));
  const row = rows.find(
    ([, local, peer]) => local?.endsWith(`:${hex(localPort)}`) && peer?.endsWith(`:${hex(peerPort)}`),
  );
  return row?.[5]?.startsWith('02:') ?? false;
}

test('H302: a peer that is silently gone is noticed, also where there is nothing to tell it', async () => {
  const send = await start({});
  const socket = send('GET / HTTP/1.1\r\nHost: berth\r\n\r\n');
  await once(socket, 'data');
  const { port } = server.address() as AddressInfo;
  await eventually(() => isWatched(port, socket.localPort ?? 0));
});
