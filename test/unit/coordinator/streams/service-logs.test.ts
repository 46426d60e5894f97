/** Logs for readers in the Worker, whose output comes from gateways: what ends them, and what they leave. */

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type {
  ObjectSocket,
  SocketEvents,
} from '../../../../control-plane/coordinator/connections/object-socket.ts';
import type { DialGateway } from '../../../../control-plane/coordinator/gateways/gateway-channels.ts';
import type { ChannelRequest } from '../../../../control-plane/coordinator/gateways/passed-channel.ts';
import { gatewayLogs } from '../../../../control-plane/coordinator/runtime/gateway-channels.ts';
import type { Ended, Placed } from '../../../../control-plane/coordinator/streams/placement.ts';
import { serviceLogs } from '../../../../control-plane/coordinator/streams/service-logs.ts';
import { encodeFrame, FRAME_HEADER_BYTES, heartbeat } from '../../../../shared/streams/log-frames.ts';
import { WINDOW_BYTES } from '../../../../shared/streams/targets.ts';
import { WindowMemory } from '../../../../shared/streams/window.ts';
import { owner } from '../../../support/rigs/coordinator-rig.ts';
import { PLACED, ScriptedPlacement } from '../../../support/rigs/scripted-placement.ts';

let placement: ScriptedPlacement;
/** The channels that were opened at gateways, and what they have been sent. */
let opens: {
  gateway: number;
  request: ChannelRequest;
  sent: string[];
  isClosed: boolean;
  events: SocketEvents;
}[];
let serve: (socket: ObjectSocket) => ReturnType<DialGateway>;
let memory: WindowMemory;
let read: string[];
let end: string | undefined;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  [opens, read, end] = [[], [], undefined];
  serve = async (socket) => socket;
  memory = new WindowMemory(MEMORY_BYTES);
});
afterEach(() => void vi.useRealTimers());

const MEMORY_BYTES = 32 * 2 ** 20;
const turns = async () => {
  for (let n = 0; n < 3; n++) await new Promise(setImmediate);
};
const atGateway = (change = {}) => ({
  hostId: 1,
  host: 'one',
  gateway: { gateway: 3, connection: 'life.1', sent: 4, ...change },
});

/** The coordinator's news of the log. */
async function news(change: Partial<Placed | Ended> = {}) {
  placement.send({ ...PLACED, at: atGateway(), ...change });
  await turns();
}

/** Opens the log, and reads it unless `isStalled`. */
async function open({ part = {}, isStalled = false, isFramed = false, first = {}, lastLine = '' } = {}) {
  placement = new ScriptedPlacement();
  const openLog = serviceLogs({
    place: async () => placement,
    logsAt: gatewayLogs((gateway, request, events) => {
      const one = { gateway, request, sent: [] as string[], isClosed: false, events };
      opens.push(one);
      return serve({
        send: (data) => one.sent.push(String(data)),
        close: () => {
          one.isClosed = true;
        },
      });
    }, memory),
  });
  const from = isFramed ? { generation: 1, offset: 0 } : undefined;
  const opened = openLog({ ...owner, lastLine }, 7, 'raw', from, part);
  const result = opened.catch((error: Error) => error);
  await turns();
  await news(first);
  const stream = await result;
  if (stream instanceof Error) throw stream;
  const reader = stream.getReader();
  const readAll = async () => {
    for (let next = await reader.read(); !next.done; next = await reader.read())
      read.push(Buffer.from(next.value).toString());
    end = 'closed';
  };
  if (!isStalled)
    readAll().catch((error) => {
      end = error.message;
    });
  await turns();
  return reader;
}

const output = async (text: string, next = text.length, nth = opens.length - 1) => {
  const { request, events } = opens[nth] ?? {};
  const { service = 0, generation = 0 } = request?.key ?? {};
  const position = { generation, offset: next };
  events?.message(encodeFrame({ service, position, payload: Buffer.from(text) }));
  await turns();
};
/** A message of the agent. */
const tell = async (type: 'channel.end' | 'channel.reset', fields: object = {}) => {
  opens.at(-1)?.events.message(JSON.stringify({ type, channel: 99, ...fields }));
  await turns();
};
const closed = () => opens.map(({ isClosed }) => isClosed);

test('P174: output is read from the gateway of the last start, and of the next one until there is no other', async () => {
  await open({ first: { generation: 2 } });
  const request = (generation: number) => ({
    at: { connection: 'life.1', sent: 4 },
    key: { service: 7, generation },
    target: { kind: 'output', offset: 0, format: 'raw' },
    credit: WINDOW_BYTES,
  });
  expect(opens).toMatchObject([{ gateway: 3, request: request(1) }]);
  await output('one');
  await tell('channel.end');
  expect(opens.slice(1)).toMatchObject([{ gateway: 3, request: request(2) }]);
  await output('two');
  await tell('channel.end', { missing: true });
  expect([read, end]).toEqual([['one', 'two'], 'the rest of the log is no longer available']);
  expect([closed(), placement.isLeft]).toEqual([[true, true], true]);
});

test('P174: the log ends once its last start has, if the coordinator knows of no further one', async () => {
  await open();
  await output('one');
  await tell('channel.end');
  expect(end).toBeUndefined();
  await news({ final: true });
  expect([read, end, placement.isLeft]).toEqual([['one'], 'closed', true]);
});

test.each([
  [
    'is refused by the host',
    () => tell('channel.reset', { refused: false, message: 'no space' }),
    'no space',
    true,
  ],
  ['is of a coordinator that has restarted', () => placement.close(), 'the coordinator has restarted', true],
  [
    'is of a host that was removed',
    () => opens[0]?.events.closed() ?? news({ removed: true, final: true, at: null }),
    'the host of the log was removed',
    false,
  ],
])('P174: a log that %s ends', async (_, act, error, isClosed) => {
  await open();
  await output('one');
  await act();
  await turns();
  expect([end, closed()]).toEqual([error, [isClosed]]);
});

test('P174: a log without a state ends with its coordinator', async () => {
  await open({ first: { at: null } });
  placement.close();
  await turns();
  expect([opens, end]).toEqual([[], 'the coordinator has restarted']);
});

test('P174: a host that serves its maximum refuses a log by name, before the answer begins, or where its next start is', async () => {
  serve = async () => 'full';
  await expect(open()).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('Host one'),
  });
  expect(placement.isLeft).toBe(true);
  expect(memory.freeBytes).toBe(MEMORY_BYTES);
  serve = async (socket) => socket;
  await open({ first: { generation: 2 } });
  serve = async () => 'full';
  await tell('channel.end');
  expect(end).toContain('Host one already serves');
});

test.each([
  ['does not have the connection', async () => undefined],
  ['fails', () => Promise.reject(new Error('reset'))],
])(
  'P174: a gateway that %s is asked again after a second, or where the coordinator has news',
  async (_, fails) => {
    serve = fails;
    await open();
    expect(opens).toHaveLength(1);
    await news({ at: atGateway({ sent: 5 }) });
    await vi.advanceTimersByTimeAsync(999);
    expect(opens).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(opens.map(({ request }) => request.at.sent)).toEqual([4, 5]);
    serve = async (socket) => socket;
    await news({ at: atGateway({ connection: 'life.2', gateway: 9 }) });
    const at = { connection: 'life.2', sent: 4 };
    expect(opens[2]).toMatchObject({ gateway: 9, request: { at, credit: WINDOW_BYTES } });
    await output('here', 4, 2);
    expect([read, end]).toEqual([['here'], undefined]);
  },
);

test('P10, P174: after a connection has ended the log goes on at the next one, where it was', async () => {
  await open();
  await output('one');
  opens[0]?.events.closed();
  await turns();
  await news({ at: null });
  await news({ at: atGateway({ connection: 'life.2' }) });
  expect(opens.map(({ request: { at, target } }) => [at.connection, target])).toMatchObject([
    ['life.1', { offset: 0 }],
    ['life.2', { offset: 3 }],
  ]);
  await output(' two', 7);
  expect([read, closed()]).toEqual([
    ['one', ' two'],
    [false, false],
  ]);
});

test('P9, P174: a reader who leaves output unread grants no more, and one who leaves closes the channel', async () => {
  const reader = await open({ isStalled: true });
  const half = 'x'.repeat(WINDOW_BYTES / 2 - FRAME_HEADER_BYTES);
  for (const nth of [1, 2]) await output(half, nth * half.length);
  expect(opens.map(({ sent }) => sent)).toEqual([[]]);
  expect((await reader.read()).value?.length).toBe(half.length);
  await turns();
  const granted = opens[0]?.sent.map((text) => JSON.parse(text)) ?? [];
  expect(granted).toMatchObject([{ type: 'channel.credit', bytes: expect.any(Number) }]);
  expect(granted[0].bytes).toBeLessThanOrEqual(WINDOW_BYTES - half.length);
  await tell('channel.end');
  await reader.read();
  await news({ generation: 2 });
  expect(closed()).toEqual([true, false]);
  await reader.cancel();
  await turns();
  expect([closed(), placement.isLeft]).toEqual([[true, true], true]);
  expect(memory.freeBytes).toBe(MEMORY_BYTES);
});

test('P174: a reader who leaves before the gateway has answered leaves no channel there', async () => {
  const late = Promise.withResolvers<void>();
  serve = (socket) => late.promise.then(() => socket);
  const opening = open({ isStalled: true });
  await turns();
  placement.close();
  await turns();
  expect(closed()).toEqual([false]);
  late.resolve();
  const reader = await opening;
  await expect(reader.read()).rejects.toThrow('the coordinator has restarted');
  await turns();
  expect(closed()).toEqual([true]);
});

test('P174: a channel closes before the last line of a reader who has lost access', async () => {
  const reader = await open({ lastLine: 'Your access has ended.', isStalled: true });
  await output('cut');
  await news({ ended: 'Log in again.', lostAccess: true });
  expect(closed()).toEqual([true]);
  const texts = [await reader.read(), await reader.read()].map(({ value }) => Buffer.from(value ?? []));
  expect(texts.map(String)).toEqual(['cut', '\nYour access has ended.\n']);
  expect((await reader.read()).done).toBe(true);
});

test('H501: a part that is not followed ends where the log is, and heartbeats of the coordinator pass to framed readers', async () => {
  await open({ part: { follow: false, tail: 2 }, first: { final: true } });
  expect(opens[0]?.request.target).toMatchObject({ follow: false, tail: 2 });
  await output('last\n');
  await tell('channel.end');
  expect([read, end]).toEqual([['last\n'], 'closed']);
  read = [];
  await open({ isFramed: true });
  placement.send('heartbeat');
  await turns();
  expect(read).toEqual([Buffer.from(heartbeat()).toString()]);
});
