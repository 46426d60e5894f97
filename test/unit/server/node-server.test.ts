import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { answerOn } from '../../support/clients/raw-http.ts';
import { GET, ServerRig, type Setup, SLOW_BODY } from '../../support/rigs/server-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

const GET_ON = 'GET / HTTP/1.1\r\nHost: berth\r\n\r\n';
const POST = 'POST /body HTTP/1.1\r\nHost: berth\r\n';

let rig: ServerRig;
afterEach(() => rig.close());

/** Starts a server. Returns a function that connects and sends `bytes`. */
async function start(setup: Setup = {}): Promise<(bytes: string) => Promise<Socket>> {
  rig = await ServerRig.start(setup);
  return (bytes) => rig.send('127.0.0.1', bytes);
}

test.each([
  ['a head that never ends', 'GET / HTTP/1.1\r\nHost: b', 600_000],
  ['a body that never arrives', `${POST}Content-Length: 9\r\n\r\n`, 30],
  ['a body that never ends', `${POST}Transfer-Encoding: chunked\r\n\r\n5\r\nab`, 30],
])('H191, H192: %s is answered with 408 after its time limit', async (_, bytes, requestMs) => {
  const send = await start({ limits: { headMs: 30, requestMs } });
  const reply = await answerOn(await send(bytes));
  const message = 'The request is malformed: it did not arrive in time.';
  expect(reply).toMatchObject({ status: 408, reason: message });
  expect(JSON.parse(reply.body)).toEqual({ code: 'invalid', message });
});

test.each([
  ['', 'GET / HTTP/1.1\r\nHost: berth\r\nhost: other\r\n\r\n'],
  [' of HTTP/1.0', 'GET / HTTP/1.0\r\nHost: berth\r\nHost: berth\r\n\r\n'],
  [
    ' for an upgrade',
    'GET / HTTP/1.1\r\nHost: berth\r\nHost: other\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  ],
])('H191: a request%s that names its host twice is 400, and the connection is closed', async (_, bytes) => {
  const send = await start();
  const reply = await answerOn(await send(bytes));
  expect(reply.status).toBe(400);
  const message = 'The request is malformed: it has more than one Host header.';
  expect(JSON.parse(reply.body)).toEqual({ code: 'invalid', message });
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
  const serve = async () => {
    served.push(turn);
    return new Response();
  };
  const send = await start({ serve });
  await buffer(await send(GET_ON.repeat(9) + GET));
  isCounting = false;
  expect(served).toHaveLength(10);
  expect(new Set(served).size).toBe(10);
});

test('H192: peers that send half a request do not delay other peers', async () => {
  const send = await start();
  for (let nth = 0; nth < 50; nth++) await send(nth % 2 ? 'GET / HT' : SLOW_BODY);
  expect((await answerOn(await send(GET))).status).toBe(200);
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
  const send = await start();
  const socket = await send(GET_ON);
  await once(socket, 'data');
  await eventually(() => hasKeepAliveTimer(rig.port, socket.localPort ?? 0));
});
