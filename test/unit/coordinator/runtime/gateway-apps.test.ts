/** Requests to applications, and clients of streams, between the Worker and a gateway. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AwakeTime } from '../../../../control-plane/coordinator/sleep/awake-time.ts';
import { ResumableStreams } from '../../../../control-plane/coordinator/streams/resumable-streams.ts';
import { OperationError } from '../../../../control-plane/core/model/errors.ts';
import {
  decodeClose,
  encodeClose,
  encodeMessage,
  kinds,
} from '../../../../shared/streams/socket-messages.ts';
import { type PairedSocket, stubRuntime } from '../../../support/rigs/object-runtime.ts';
import { ScriptedPlacement } from '../../../support/rigs/scripted-placement.ts';
import { TestClock } from '../../../support/rigs/test-clock.ts';

// Written for the types of workerd, which tests do not have.
const RUNTIME = '../../../../control-plane/coordinator/runtime';
const apps = await import(`${RUNTIME}/apps/gateway-apps.ts`);
const streams = await import(`${RUNTIME}/gateway-streams.ts`);

let lengths: number[];
let clock: TestClock;
let awake: AwakeTime;
/** The last request to the application. */
let asked: { request: { method: string; headers: [string, string][] }; input: Record<string, unknown> };
let answer: () => unknown;
let isPipeClosed: boolean;
let written: Uint8Array[];

beforeEach(() => {
  lengths = stubRuntime();
  clock = new TestClock();
  awake = new AwakeTime(() => clock.nowMs());
  [isPipeClosed, written] = [false, []];
});
afterEach(() => void vi.unstubAllGlobals());

const turns = async () => {
  for (let n = 0; n < 3; n++) await new Promise(setImmediate);
};
/** Bytes that come once, later. */
function lateBytes() {
  const { promise, resolve } = Promise.withResolvers<Uint8Array>();
  let next: Promise<Uint8Array | undefined> = promise;
  const read = () => {
    const bytes = next;
    next = new Promise(() => {});
    return bytes;
  };
  return { resolve, read };
}
const pipe = {
  write: async (bytes: Uint8Array) => void written.push(bytes),
  close: () => {
    isPipeClosed = true;
  },
};
const answers = (status: number, headers: [string, string][], parts: (string | Uint8Array)[] = []) => {
  const left = parts.map((part) => Buffer.from(part));
  return { status, headers, pipe, read: async () => left.shift() };
};
const relay = {
  request: async (request: typeof asked.request, input: typeof asked.input) => {
    asked = { request, input };
    return answer();
  },
};
const gateway = { fetch: (request: Request) => apps.acceptApp(request, awake, clock, relay) };
const REQUEST = { serviceId: 7, hostId: 1, port: 80, method: 'GET', path: '/', headers: [] };
const forward = (request: object = {}, client: RequestInit = {}, at: object = gateway) =>
  apps.forwardApp(at, { ...REQUEST, ...request }, new Request('http://app.test/', client));

test('H710: a request and its answer pass with their bytes, and the length that the application states', async () => {
  const stated = Object.entries({ 'content-length': '4', 'x-name': 'gr\u00c3\u00bcn' });
  answer = () => answers(200, stated, ['four']);
  const request = { method: 'POST', headers: Object.entries({ 'x-name': 'gr\u00fcn', 'x-plain': 'a b' }) };
  const { headers, respond } = await forward(request, { method: 'POST', body: 'sent' });
  expect(Object.fromEntries(asked.request.headers)).toEqual({
    'x-name': 'gr\u00c3\u00bcn',
    'x-plain': 'a b',
  });
  const { body, isUpgrade } = asked.input as { body: { read(): Promise<Uint8Array> }; isUpgrade: boolean };
  expect([Buffer.from(await body.read()).toString(), isUpgrade]).toEqual(['sent', false]);
  const response = respond(headers);
  expect([response.status, response.headers.get('x-name'), await response.text(), lengths]).toEqual([
    ...[200, 'gr\u00fcn', 'four'],
    [4],
  ]);
});

test.each([
  ['HEAD', 200],
  ['GET', 304],
])('H710: an answer to %s with %i has no body, also where its length is stated', async (method, status) => {
  answer = () => answers(status, [['content-length', '4']]);
  const { headers, respond } = await forward({ method });
  expect([respond(headers).body, respond(headers).status, lengths, asked.input.body]).toEqual([
    null,
    status,
    [],
    null,
  ]);
});

test('H712: an error has its code, message and delay, and a gateway that does not answer is unavailable', async () => {
  for (const options of [{ retryAfterS: 3 }, {}]) {
    answer = () => Promise.reject(new OperationError('conflict', 'why', options));
    const error = await forward().catch((one: unknown) => one);
    expect(error).toMatchObject({ code: 'conflict', message: 'why', ...options });
    expect(error.retryAfterS).toBe(options.retryAfterS);
  }
  answer = () => Promise.reject(new Error('a fault'));
  await expect(forward()).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('gateway'),
  });
});

const UPGRADE = { headers: { upgrade: 'WebSocket', 'sec-websocket-protocol': 'one, two' } };

const acceptedWith = (read: () => Promise<unknown>) => () => ({ ...answers(101, []), read });

test('H713: a WebSocket passes messages both ways, and its end with code and reason', async () => {
  const messages = [
    encodeMessage(kinds.text, Buffer.from('hi')),
    encodeMessage(kinds.binary, Uint8Array.of(7)),
  ];
  const more = lateBytes();
  const kept = { 'sec-websocket-protocol': 'two', 'x-kept': '1' };
  answer = () => ({
    ...answers(101, Object.entries(kept)),
    read: async () => messages.shift() ?? more.read(),
  });
  const { headers, respond } = await forward({}, UPGRADE);
  expect(headers).toEqual(Object.entries(kept));
  const response = respond(headers);
  const client: PairedSocket = response.webSocket;
  expect(response.status).toBe(101);
  expect(client.peer).toMatchObject({ isAccepted: true, binaryType: 'arraybuffer' });
  expect([asked.input.isUpgrade, asked.request.method, lengths]).toEqual([true, 'GET', []]);
  await turns();
  expect(client.received).toEqual(['hi', new Uint8Array([7])]);
  client.send('text');
  client.send(new Uint8Array([1, 2]).buffer);
  await turns();
  expect(written).toEqual([
    encodeMessage(kinds.text, Buffer.from('text')),
    encodeMessage(kinds.binary, Uint8Array.of(1, 2)),
  ]);
  expect(awake.active).toBe(0);
  // The reason is cut at a whole character.
  more.resolve(encodeClose(4000, Buffer.from(`${'x'.repeat(119)}\u00fc\u00fc`)));
  await turns();
  expect(client.peer?.closes).toEqual([[4000, expect.stringMatching(/^x{119}/)]]);
  client.peer?.emit('close', { code: 4000, reason: '' });
  expect(client.peer?.closes.at(-1)).toEqual([]);
});

test.each([
  ['closes', (server?: PairedSocket) => server?.emit('close', { code: 4001, reason: 'bye' }), 4001],
  ['has gone', (server?: PairedSocket) => server?.emit('close', { code: 1006, reason: '' }), 1001],
  ['fails', (server?: PairedSocket) => server?.emit('error'), 1001],
])('H713: an application learns with which code a browser that %s has left', async (_, leave, code) => {
  answer = acceptedWith(() => new Promise(() => {}));
  const { headers, respond } = await forward({}, UPGRADE);
  leave(respond(headers).webSocket.peer);
  await turns();
  expect(decodeClose(written[0]?.subarray(5) ?? new Uint8Array()).code).toBe(code);
  clock.pass(5_000);
  expect(isPipeClosed).toBe(true);
});

test('H713: a socket that the runtime has closed ends the connection to the application', async () => {
  const more = lateBytes();
  answer = acceptedWith(more.read);
  const { headers, respond } = await forward({}, UPGRADE);
  respond(headers).webSocket.peer.isBroken = true;
  more.resolve(encodeMessage(kinds.text));
  await turns();
  expect(isPipeClosed).toBe(true);
});

test('H713: what is no handshake is refused, and another answer passes', async () => {
  await expect(forward({ method: 'POST' }, UPGRADE)).rejects.toMatchObject({ code: 'invalid' });
  answer = () => answers(403, [], ['no']);
  const { headers, respond } = await forward({}, UPGRADE);
  expect([respond(headers).status, await respond(headers).text()]).toEqual([403, 'no']);
});

test('H680: a client of a stream is joined at the gateway, until either side leaves', async () => {
  const requested: unknown[] = [];
  const permit = new ScriptedPlacement();
  const deps = {
    ...{ clock, rules: { idleMs: 1_000, totalMs: 9_000 } },
    place: async ({ serviceId }: { serviceId: number }) => {
      requested.push(serviceId);
      return permit;
    },
    channelsAt: async () => undefined,
  };
  const request = { purpose: 'forward', serviceId: 7, hostId: 1, subscriber: {}, doer: {} };
  const accept = async (one: Request) => streams.acceptStream(one, awake, deps, new ResumableStreams(1));
  const join = () => streams.forwardStream({ fetch: accept }, request);
  const response = await join();
  const client: PairedSocket = response.webSocket;
  expect(response.status).toBe(101);
  expect(response.headers.get('sec-websocket-protocol')).toEqual(expect.any(String));
  expect(client.peer).toMatchObject({ isAccepted: true, binaryType: 'arraybuffer' });
  client.send(JSON.stringify({ type: 'forward', port: 80 }));
  await turns();
  expect([requested, awake.active]).toEqual([[7], 0]);
  client.peer?.emit('close', { code: 1000 });
  expect(permit.isLeft).toBe(true);
  const bytes: PairedSocket = (await join()).webSocket;
  bytes.send(new Uint8Array(1).buffer);
  expect([JSON.parse(String(bytes.received[0])), bytes.peer?.closes]).toEqual([
    { type: 'reset', message: expect.stringContaining('of the kind forward') },
    [[1001, expect.any(String)]],
  ]);
  const broken: PairedSocket = (await join()).webSocket;
  Object.assign(broken.peer ?? {}, {
    send: () => {
      throw new TypeError('the socket has closed');
    },
  });
  expect(() => clock.pass(10_000)).not.toThrow();
  await expect(
    streams.forwardStream({ fetch: () => Promise.reject(new Error('reset')) }, request),
  ).rejects.toMatchObject({ code: 'unavailable' });
});
