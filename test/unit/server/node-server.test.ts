import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { variants } from '../../../control-plane/http/variants/choose.ts';
import { httpServer, type ServerLimits } from '../../../control-plane/server/node-server.ts';
import { answerOn, dial } from '../../support/clients/raw-http.ts';
import { WIDE_LIMITS } from '../../support/fixtures/connection-limits.ts';
import { eventually } from '../../support/tools/eventually.ts';

/** Limits so wide that no test reaches them. */
const WIDE: ServerLimits = {
  headMs: 600_000,
  requestMs: 600_000,
  checkMs: 5,
  quietMs: 60_000,
  bodyGraceMs: 600_000,
  stallMs: 600_000,
  reportMs: 600_000,
};
const GET = 'GET / HTTP/1.1\r\nHost: berth\r\nConnection: close\r\n\r\n';

let server: Server;
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

/** Starts a server whose app answers with the body of the request. */
async function start(
  limits: Partial<ServerLimits>,
  isUpgrade: () => boolean = () => false,
  served: () => void = () => {},
): Promise<(bytes: string) => Socket> {
  const fetch = async (request: Request) => {
    served();
    return new Response(await request.text());
  };
  ({ server } = httpServer(fetch, {
    variant: variants.B,
    isUpgrade,
    connectionLimits: WIDE_LIMITS,
    trustsProxy: false,
    log: () => {},
    limits: { ...WIDE, ...limits },
  }));
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
  ['a head that never ends', 'GET / HTTP/1.1\r\nHost: b', { headMs: 30 }],
  [
    'a body that never arrives',
    'POST / HTTP/1.1\r\nHost: berth\r\nContent-Length: 9\r\n\r\n',
    { requestMs: 30, headMs: 30 },
  ],
  [
    'a body that never ends',
    'POST / HTTP/1.1\r\nHost: berth\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab',
    { requestMs: 30, headMs: 30 },
  ],
])('H191, H192: %s is answered with 408 after its time limit', async (_, bytes, limits) => {
  const send = await start(limits);
  const reply = await answerOn(send(bytes));
  expect(reply).toMatchObject({
    status: 408,
    reason: 'The request is malformed: it did not arrive in time.',
  });
  expect(JSON.parse(reply.body)).toEqual({ code: 'invalid', message: reply.reason });
});

test.each([
  ['', 'GET / HTTP/1.1\r\nHost: berth\r\nhost: other\r\n\r\n'],
  [' of HTTP/1.0', 'GET / HTTP/1.0\r\nHost: berth\r\nHost: berth\r\n\r\n'],
  [
    ' for an upgrade',
    'GET / HTTP/1.1\r\nHost: berth\r\nHost: other\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  ],
])('H191: a request%s that names its host twice is 400, and the connection is closed', async (_, bytes) => {
  const send = await start({}, () => true);
  const reply = await answerOn(send(bytes));
  expect(reply.status).toBe(400);
  expect(JSON.parse(reply.body)).toEqual({
    code: 'invalid',
    message: 'The request is malformed: it has more than one Host header.',
  });
});

test('H377: of the requests that wait on a connection, one is served in each turn of the event loop', async () => {
  let turn = 0;
  let isCounting = true;
  const count = () => {
    turn += 1;
    if (isCounting) setImmediate(count);
  };
  count();
  const served: number[] = [];
  const send = await start(
    {},
    () => false,
    () => served.push(turn),
  );
  const requests = GET.replace('Connection: close\r\n', '').repeat(9);
  await buffer(send(requests + GET));
  isCounting = false;
  expect(served).toHaveLength(10);
  expect(new Set(served).size).toBe(10);
});

test('H192: peers that send half a request do not delay other peers', async () => {
  const send = await start({});
  for (let nth = 0; nth < 50; nth++) {
    send(nth % 2 ? 'GET / HT' : 'POST / HTTP/1.1\r\nHost: berth\r\nContent-Length: 9\r\n\r\nabc');
  }
  expect((await answerOn(send(GET))).status).toBe(200);
});

/**
 * Whether keep-alive probes are on for the connection: /proc/net/tcp lists its two ports in hexadecimal, and
 * 02 for that timer.
 */
async function hasKeepAliveTimer(localPort: number, peerPort: number): Promise<boolean> {
  const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0');
  const rows = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map((row) => row.trim().split(/\s+/));
  const row = rows.find(
    ([, local, peer]) => local?.endsWith(`:${hex(localPort)}`) && peer?.endsWith(`:${hex(peerPort)}`),
  );
  return row?.[5]?.startsWith('02:') ?? false;
}

test('H302: a silently lost peer is detected even if the server has nothing to send to it', async () => {
  const send = await start({});
  const socket = send('GET / HTTP/1.1\r\nHost: berth\r\n\r\n');
  await once(socket, 'data');
  const { port } = server.address() as AddressInfo;
  await eventually(() => hasKeepAliveTimer(port, socket.localPort ?? 0));
});
