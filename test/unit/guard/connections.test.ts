import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { answerOn } from '../../support/clients/raw-http.ts';
import { GET, HALF, HELD, isOpen, ServerRig, type Setup, SLOW_BODY } from '../../support/rigs/server-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

const GET_ON = GET.replace('Connection: close\r\n', '');
const UPGRADE = 'GET / HTTP/1.1\r\nHost: b\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';
const LARGE = 'GET /large HTTP/1.1\r\nHost: berth\r\n\r\n';
const forwarded = (address: string, request: string) =>
  request.replace('\r\n\r\n', `\r\nX-Forwarded-For: ${address}\r\n\r\n`);

let rig: ServerRig;

afterEach(() => rig.close());

/** Starts a server. Returns a function that connects from a loopback address and sends `bytes`. */
async function start(setup: Setup) {
  rig = await ServerRig.start(setup);
  return (from: string, bytes: string) => rig.send(from, bytes);
}

test('H452: the metrics tell the connections, the requests, and those of the address that has most', async () => {
  const send = await start({ perAddress: 3, connections: 20, forAgents: 5 });
  const used = () => rig.connections.limits.map(({ used, limit }) => [used, limit]);
  await send('127.0.0.2', HALF);
  for (let n = 0; n < 2; n++) await send('127.0.0.3', HELD);
  await eventually(() => rig.connections.limits[1]?.used === 2);
  expect(used().slice(0, 3)).toEqual([
    [3, 20],
    [2, 15],
    [2, 3],
  ]);
});

test('H344: beyond the limit of an address, its own oldest unfinished head goes first, with an answer', async () => {
  const send = await start({ perAddress: 3 });
  const other = await send('127.0.0.3', HALF);
  const own = [];
  for (let n = 0; n < 3; n++) own.push(await send('127.0.0.2', HALF));
  const [oldest, ...later] = own;
  const reply = answerOn(oldest as Socket);
  expect((await answerOn(await send('127.0.0.2', GET))).status).toBe(200);
  const reason = 'Too many connections from this address: at most 3. Try again when some have ended.';
  expect(await reply).toMatchObject({ status: 429, reason });
  expect([other, ...later].every(isOpen)).toBe(true);
  other.write('erth\r\nConnection: close\r\n\r\n');
  expect((await answerOn(other)).status).toBe(200);
});

test('H345: if all places are taken, the oldest unfinished head of all goes first', async () => {
  const send = await start({ connections: 4 });
  const half = [];
  for (let n = 2; n < 6; n++) half.push(await send(`127.0.0.${n}`, HALF));
  const [oldest, ...later] = half;
  const reply = answerOn(oldest as Socket);
  expect((await answerOn(await send('127.0.0.9', GET))).status).toBe(200);
  const reason = 'Too many connections at the same time: at most 4. Try again.';
  expect(await reply).toMatchObject({ status: 503, reason });
  expect(later.every(isOpen)).toBe(true);
});

test('H345: a connection between two requests is closed without an answer, which the client would take for the next one', async () => {
  const send = await start({ connections: 1 });
  const idle = await send('127.0.0.2', GET_ON);
  let received = '';
  idle.on('data', (bytes) => {
    received += bytes;
  });
  await eventually(() => received.endsWith('ok'));
  expect((await answerOn(await send('127.0.0.3', GET))).status).toBe(200);
  await eventually(() => idle.closed);
  expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1);
});

test('H344: a request beyond the limit of its address is 429, and those of other addresses are served', async () => {
  const send = await start({ perAddress: 2 });
  await send('127.0.0.2', HELD);
  await send('127.0.0.2', HELD);
  await eventually(() => rig.held.length === 2);
  const refused = await answerOn(await send('127.0.0.2', GET));
  const reason = 'Too many requests from this address: at most 2. Try again when some have ended.';
  expect(refused).toMatchObject({ status: 429, reason });
  expect(refused.headers).toContainEqual(['retry-after', '1']);
  expect((await answerOn(await send('127.0.0.3', GET))).status).toBe(200);
  rig.held[0]?.(new Response('done'));
  await eventually(async () => (await answerOn(await send('127.0.0.2', GET))).status === 200);
});

test('H377: requests that a client sends without awaiting the answers are served one after the other', async () => {
  const send = await start({ perAddress: 1 });
  const socket = await send('127.0.0.2', `${HELD}${HELD}${SLOW_BODY}defghi${GET}`);
  const received = buffer(socket);
  await eventually(() => rig.held.length === 1);
  expect((await answerOn(await send('127.0.0.3', GET))).status).toBe(200);
  expect([rig.held.length, rig.bodies]).toEqual([1, 0]);
  rig.held[0]?.(new Response('first'));
  await eventually(() => rig.held.length === 2);
  expect(rig.bodies).toBe(0);
  rig.held[1]?.(new Response('second'));
  const text = (await received).toString();
  expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(Array(4).fill('HTTP/1.1 200'));
  expect(text).toMatch(/first.*second.*abcdefghi.*ok$/s);
});

test('H377: the first request beyond those that may wait on a connection is 429, and the connection ends', async () => {
  const send = await start({ pipelined: 2 });
  const received = buffer(await send('127.0.0.2', `${HELD}${GET_ON}${GET_ON}${SLOW_BODY}defghi${GET_ON}`));
  await eventually(() => rig.held.length === 1);
  rig.held[0]?.(new Response('first'));
  const text = (await received).toString();
  expect(text.match(/HTTP\/1\.1 \d+/g)?.map((line) => line.slice(9))).toEqual(['200', '200', '200', '429']);
  expect(text).toContain(
    'Too many requests on this connection: at most 2 may wait for the answers to earlier ones.',
  );
  expect(rig.bodies).toBe(0);
});

test('H377: no more is read of a connection with a request too many', async () => {
  const send = await start({ pipelined: 2 });
  const accepted = once(rig.server, 'connection');
  const socket = await send('127.0.0.2', HELD);
  const [peer] = (await accepted) as [Socket];
  await eventually(() => rig.held.length === 1);
  socket.write(GET_ON.repeat(200_000));
  await eventually(() => peer.isPaused());
  expect((await answerOn(await send('127.0.0.3', GET))).status).toBe(200);
  expect(peer.bytesRead).toBeLessThan(2 ** 20);
});

test('H346: a client that has left leaves its place', async () => {
  const send = await start({ perAddress: 1 });
  const socket = await send('127.0.0.2', HELD);
  await eventually(() => rig.held.length === 1);
  socket.destroy();
  await eventually(async () => (await answerOn(await send('127.0.0.2', GET))).status === 200);
});

test('H346: the limit counts the requests of each forwarded address, and not the connections of the proxy', async () => {
  const send = await start({ perAddress: 2, trustsProxy: true });
  for (let n = 0; n < 4; n++) await send('127.0.0.2', HALF);
  for (let n = 0; n < 2; n++) await send('127.0.0.2', forwarded('198.51.100.1, 192.0.2.1', HELD));
  await eventually(() => rig.held.length === 2);
  for (const [address, status] of [['192.0.2.1', 429] as const, ['192.0.2.1, 192.0.2.2', 200] as const])
    expect((await answerOn(await send('127.0.0.2', forwarded(address, GET)))).status).toBe(status);
});

test('H347: requests leave the reserve to agents, which lose their places to nobody', async () => {
  const send = await start({ connections: 3, forAgents: 1 });
  rig.server.on('upgrade', (_request, stream) => {
    rig.connections.keep(stream);
    rig.upgraded.push(stream);
    stream.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
  });
  await send('127.0.0.2', HELD);
  await send('127.0.0.3', HELD);
  await eventually(() => rig.held.length === 2);
  const reason = 'Too many requests at the same time: at most 2. Try again.';
  expect(await answerOn(await send('127.0.0.4', GET))).toMatchObject({ status: 503, reason });
  const agent = await send('127.0.0.5', UPGRADE);
  await once(agent, 'data');
  const late = await send('127.0.0.6', GET);
  await eventually(() => late.closed);
  expect(isOpen(agent)).toBe(true);
});

test('H344: agents that are being admitted do not count for their address', async () => {
  const send = await start({ perAddress: 1 });
  rig.server.on('upgrade', (_request, stream) => rig.upgraded.push(stream));
  const agents = [];
  for (let n = 0; n < 3; n++) agents.push(await send('127.0.0.2', UPGRADE));
  await eventually(() => rig.upgraded.length === 3);
  expect(agents.every(isOpen)).toBe(true);
});

test('H348: if all places for requests are taken, the request whose body is the slowest goes first', async () => {
  const send = await start({ connections: 4, forAgents: 2 });
  await send('127.0.0.2', HELD);
  await eventually(() => rig.held.length === 1);
  const slow = await send('127.0.0.3', SLOW_BODY);
  await eventually(() => rig.bodies === 1);
  const reply = answerOn(slow);
  expect((await answerOn(await send('127.0.0.4', GET))).status).toBe(200);
  expect((await reply).status).toBe(503);
});

test('H348: a body keeps its place for some seconds', async () => {
  const send = await start({ connections: 4, forAgents: 3, limits: { bodyGraceMs: 600_000 } });
  const slow = await send('127.0.0.3', SLOW_BODY);
  await eventually(() => rig.bodies === 1);
  expect((await answerOn(await send('127.0.0.4', GET))).status).toBe(503);
  slow.end('defghi');
  expect((await answerOn(slow)).body).toBe('abcdefghi');
});

test('H348: a peer that reads nothing of its answer is cut, and a silent stream is not', async () => {
  const send = await start({ limits: { stallMs: 50 } });
  const silent = await send('127.0.0.2', HELD);
  const ended = new Promise<void>((done) =>
    rig.server.once('request', (_request, response: ServerResponse) => response.once('close', done)),
  );
  (await send('127.0.0.1', LARGE)).pause();
  await ended;
  expect(isOpen(silent)).toBe(true);
});

test('H378, H452: if unread answers take too much memory, an address loses the oldest of those that are beyond its share', async () => {
  const send = await start({ unreadBytes: 160 * 2 ** 20 });
  const unread = async (from: string): Promise<Socket> => {
    const accepted = once(rig.server, 'connection');
    const socket = await send(from, LARGE);
    socket.pause();
    const [peer] = (await accepted) as [Socket];
    await eventually(() => peer.writableLength > 0);
    return peer;
  };
  const oldest = await unread('127.0.0.2');
  const others = [await unread('127.0.0.3'), await unread('127.0.0.2')];
  await eventually(() => oldest.destroyed);
  expect(others.every(({ writable }) => writable)).toBe(true);
  const bytes = () => others.reduce((sum, { writableLength }) => sum + writableLength, 0);
  await eventually(() => rig.connections.limits[3]?.used === bytes());
  expect(rig.connections.limits[3]).toMatchObject({ unit: 'bytes', limit: 160 * 2 ** 20 });
});

test('H349: a line in the log counts the connections and requests that were refused', async () => {
  const send = await start({ perAddress: 1 });
  await send('127.0.0.2', HALF);
  await send('127.0.0.2', HALF);
  await eventually(() => rig.events.some(([event]) => event === 'connections.refused'));
  expect(rig.events.at(-1)).toEqual(['connections.refused', { closed: 1, answered: 0, open: 1 }]);
});
