/** The object of a gateway on workerd: what it keeps of its connections, and what wakes it. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { encode } from '../../../../shared/protocol/codec.ts';
import { PROTOCOL_HASH, PROTOCOL_VERSION } from '../../../../shared/protocol/version.ts';
import { hostFacts } from '../../../support/rigs/core-rig.ts';
import { type PairedSocket, stubRuntime } from '../../../support/rigs/object-runtime.ts';

vi.mock('cloudflare:workers', () => ({
  DurableObject: class {
    ctx: unknown;
    env: unknown;
    constructor(ctx: unknown, env: unknown) {
      Object.assign(this, { ctx, env });
    }
  },
}));
// Written for the types of workerd, which tests do not have.
const RUNTIME = '../../../../control-plane/coordinator/runtime';
const { GatewayObject } = await import(`${RUNTIME}/gateway-object.ts`);

type Attached = PairedSocket & { attachment?: unknown };

const LOST_AFTER_MS = 90_000;
const T0 = 1_700_000_000_000;
let stored: Map<string, unknown>;
let alarms: number[];
let alarmMs: number | null;
let sockets: Attached[];
let admitted: unknown[];
let admission: object;
let ups: { connection: string; first: number; entries: unknown[]; closing?: { silentMs?: number } }[][];
let rejected: string[];
let pulsedMs: number | undefined;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: T0 });
  vi.spyOn(console, 'log').mockImplementation(() => {});
  stubRuntime();
  vi.stubGlobal('WebSocketRequestResponsePair', class {});
  [stored, alarms, alarmMs, sockets] = [new Map(), [], null, []];
  [admitted, admission, ups, rejected, pulsedMs] = [[], { value: 'life.1' }, [], [], undefined];
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const turns = async () => {
  for (let n = 0; n < 4; n++) await new Promise(setImmediate);
};

/** An object with what is stored and attached. */
async function wake() {
  const coordinator = {
    admit: async (...args: unknown[]) => {
      admitted.push(args);
      return admission;
    },
    up: async (batch: (typeof ups)[number]) => {
      ups.push(batch);
      return rejected;
    },
  };
  const ctx = {
    setWebSocketAutoResponse: () => {},
    blockConcurrencyWhile: (run: () => unknown) => run(),
    getWebSockets: () => sockets,
    acceptWebSocket: (socket: Attached) => {
      sockets.push(Object.assign(socket, attachable(socket)));
    },
    getWebSocketAutoResponseTimestamp: () => (pulsedMs === undefined ? null : new Date(pulsedMs)),
    storage: {
      get: async (key: string) => stored.get(key),
      put: async (key: string, value: unknown) => void stored.set(key, structuredClone(value)),
      delete: async (key: string) => stored.delete(key),
      list: async ({ prefix }: { prefix: string }) =>
        new Map([...stored].filter(([key]) => key.startsWith(prefix))),
      getAlarm: async () => alarmMs,
      setAlarm: async (timeMs: number) => {
        alarmMs = timeMs;
        alarms.push(timeMs);
      },
    },
  };
  const object = new GatewayObject(ctx, {
    BERTH_DATABASE_URL: 'http://127.0.0.1:1',
    COORDINATOR: { idFromName: (name: string) => name, get: () => coordinator },
  });
  await turns();
  return object;
}
const attachable = (socket: Attached) => ({
  serializeAttachment: (value: unknown) => {
    socket.attachment = structuredClone(value);
  },
  deserializeAttachment: () => socket.attachment,
});

async function connect(object: Awaited<ReturnType<typeof wake>>, hostId = 101) {
  const headers = { 'berth-proof': JSON.stringify({ hostId, proofId: 'p', expiresMs: 1 }) };
  return object.fetch(new Request('https://gateway/agent/v1/connect', { headers }));
}
const hello = encode({
  type: 'hello',
  ...{ version: PROTOCOL_VERSION, hash: PROTOCOL_HASH, deployment: 'test', host: hostFacts('one') },
  ...{ engine: { id: 'e' }, inventory: [] },
});
const closings = () => ups.flat().filter(({ closing }) => closing);

test('P170, P180: an agent that the coordinator admits at its gateway has a socket, a key until its end, and an alarm', async () => {
  const object = await wake();
  const response = await connect(object);
  expect(admitted).toEqual([[1, { hostId: 101, proofId: 'p', expiresMs: 1 }]]);
  expect([response.status, response.webSocket.peer === sockets[0]]).toEqual([101, true]);
  expect(stored.get('connection.life.1')).toBe(101);
  admission = { value: 'life.2' };
  vi.setSystemTime(T0 + 5_000);
  await connect(object);
  expect(alarms).toEqual([T0 + LOST_AFTER_MS]);
  object.webSocketMessage(sockets[0], hello);
  await turns();
  expect(ups).toMatchObject([[{ connection: 'life.1', first: 0, entries: [{ type: 'hello' }] }]]);
  const portion = { connection: 'life.1', first: 0, entries: ['text'] };
  expect(await object.down('life', [portion])).toEqual([]);
  expect(sockets[0]?.peer?.received).toEqual(['text']);
  object.webSocketClose(sockets[0]);
  await turns();
  expect(sockets[0]?.closes).toEqual([[1000]]);
  expect([...stored.keys()].filter((key) => key.startsWith('connection.'))).toEqual(['connection.life.2']);
  expect(closings()).toMatchObject([{ connection: 'life.1' }]);
  object.webSocketError(sockets[1]);
  await turns();
  expect([closings().length, [...stored.keys()]]).toEqual([2, ['awake']]);
});

test('P174: a reader in the Worker has a channel to an agent at the gateway, which ends with its socket', async () => {
  const object = await wake();
  await connect(object);
  const dial = (connection: string) => {
    const target = { kind: 'output', offset: 0, format: 'raw' };
    const key = { service: 7, generation: 2 };
    const request = { at: { connection, sent: 0 }, key, target, credit: 100 };
    const headers = { 'berth-request': JSON.stringify(request) };
    return object.fetch(new Request('https://gateway/channel', { headers }));
  };
  expect((await dial('life.2')).status).toBe(404);
  const { status, webSocket } = await dial('life.1');
  expect(status).toBe(101);
  const types = () => sockets[0]?.peer?.received.map((text) => JSON.parse(String(text)).type);
  expect(types()).toEqual(['channel.open']);
  webSocket.peer.emit('close');
  expect(types()).toEqual(['channel.open', 'channel.reset']);
});

test('P71: an agent that the coordinator refuses has its reason, and no socket', async () => {
  admission = { code: 'unknown-host', message: 'why' };
  const response = await connect(await wake());
  expect([await response.json(), sockets, alarms]).toEqual([admission, [], []]);
});

test('P176: after a sleep the object goes on with what is attached to its sockets, and closes others with 4000', async () => {
  const first = await wake();
  await connect(first);
  first.webSocketMessage(sockets[0], hello);
  await turns();
  for (const wrong of [undefined, { ...(sockets[0]?.attachment as object), up: 'x' }]) {
    const socket: Attached = new (WebSocketPairOf())()[1];
    sockets.push(Object.assign(socket, attachable(socket), { attachment: wrong }));
  }
  const object = await wake();
  expect(sockets.map(({ closes }) => closes.map(([code]) => code))).toEqual([[], [4000], [4000]]);
  object.webSocketMessage(sockets[0], Buffer.from([0]).buffer);
  expect(sockets[0]?.closes).toEqual([[4400, expect.any(String)]]);
  sockets.length = 1;
  const next = await wake();
  next.webSocketMessage(
    sockets[0],
    encode({ type: 'report', sequence: 1, observations: [], forgotten: [7] }),
  );
  await turns();
  expect(ups.at(-1)).toMatchObject([{ first: 1, entries: [{ type: 'report' }] }]);
});
const WebSocketPairOf = () =>
  (globalThis as unknown as { WebSocketPair: new () => { 0: PairedSocket; 1: PairedSocket } }).WebSocketPair;

test('P180: the alarm ends silent connections, tells the coordinator of those that are gone, and rings for as long as there are any', async () => {
  const first = await wake();
  await connect(first);
  stored.set('connection.life.9', 5);
  vi.setSystemTime(T0 + LOST_AFTER_MS - 1);
  await first.alarm();
  expect([sockets[0]?.closes, alarms.at(-1)]).toEqual([[], T0 + LOST_AFTER_MS]);
  await turns();
  expect(closings()).toMatchObject([{ connection: 'life.9' }]);
  expect(stored.has('connection.life.9')).toBe(false);
  pulsedMs = T0 + LOST_AFTER_MS - 2;
  vi.setSystemTime(T0 + LOST_AFTER_MS);
  await first.alarm();
  expect([sockets[0]?.closes, alarms.at(-1)]).toEqual([[], pulsedMs + LOST_AFTER_MS]);
  vi.setSystemTime(pulsedMs + LOST_AFTER_MS);
  await first.alarm();
  expect(sockets[0]?.closes).toEqual([[4000, 'no sign of life']]);
  expect(alarms.at(-1)).toBe(pulsedMs + 2 * LOST_AFTER_MS);
  await turns();
  const count = alarms.length;
  await first.alarm();
  expect([alarms.length, closings().length]).toEqual([count, 2]);
});

test('C233: the time awake is written once a minute, and counted further after a sleep', async () => {
  stored.set('awake', { sinceMs: 1, wakes: 2, awakeMs: 3, memoryMs: 4 });
  const object = await wake();
  await object.alarm();
  expect(stored.get('awake')).toMatchObject({ sinceMs: 1, wakes: 3 });
  stored.delete('awake');
  vi.setSystemTime(T0 + 59_999);
  await object.alarm();
  expect(stored.has('awake')).toBe(false);
  vi.setSystemTime(T0 + 60_000);
  await object.alarm();
  expect(stored.get('awake')).toEqual(object.awakeTotals());
});
