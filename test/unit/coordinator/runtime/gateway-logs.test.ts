/** Logs for readers in the Worker, whose output comes from gateways: what ends them, and what they leave. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { gatewayLogs } from '../../../../control-plane/coordinator/runtime/gateway-logs.ts';
import type { Ended, Placed } from '../../../../control-plane/coordinator/streams/placement.ts';
import { serviceLogs } from '../../../../control-plane/coordinator/streams/service-logs.ts';
import { OperationError } from '../../../../control-plane/core/model/errors.ts';
import { LogWindows } from '../../../../control-plane/core/streams/log-windows.ts';
import { LOG_WINDOW_BYTES } from '../../../../shared/protocol/codec.ts';
import { encodeFrame, encodeNote, heartbeat, type LogNote } from '../../../../shared/streams/log-frames.ts';
import { owner } from '../../../support/rigs/coordinator-rig.ts';

type Served = ReadableStream<Uint8Array> | 'full' | undefined;

let coordinator: ReadableStreamDefaultController<Uint8Array>;
let hasLeft: boolean;
let opens: { gateway: number; reader: string; args: unknown[]; isCancelled: boolean }[];
let outputs: ReadableStreamDefaultController<Uint8Array>[];
let closed: string[];
let serve: (output: ReadableStream<Uint8Array>) => Promise<Served>;
let closes: () => Promise<void>;
let windows: LogWindows;
let read: string[];
let end: string | undefined;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  [opens, outputs, closed, read, end, hasLeft] = [[], [], [], [], undefined, false];
  serve = async (output) => output;
  closes = async () => {};
  windows = new LogWindows();
});
afterEach(() => void vi.useRealTimers());

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
  const state = { generation: 1, removed: false, final: false, at: atGateway(), ...change };
  coordinator.enqueue(Buffer.from(`${JSON.stringify(state)}\n`));
  await turns();
}

/** Opens the log, and reads it unless `isStalled`. */
async function open({ part = {}, isStalled = false, isFramed = false, first = {}, lastLine = '' } = {}) {
  const placements = {
    place: async () =>
      new ReadableStream({
        start: (controller) => {
          coordinator = controller;
        },
        cancel: () => {
          hasLeft = true;
        },
      }),
    left: async () => {},
  };
  const openLog = serviceLogs(
    {
      ...placements,
      logsAt: gatewayLogs((gateway) => ({
        openLog: ({ connection, sent }, reader, ...args) => {
          const one = { gateway, reader, args: [connection, sent, ...args], isCancelled: false };
          opens.push(one);
          return serve(
            new ReadableStream({
              start: (controller) => void outputs.push(controller),
              cancel: () => {
                one.isCancelled = true;
              },
            }),
          );
        },
        closeLog: (reader) => {
          closed.push(reader);
          return closes();
        },
      })),
    },
    windows,
  );
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

const output = async (text: string, next = text.length, nth = outputs.length - 1) => {
  outputs[nth]?.enqueue(
    encodeFrame({ service: 7, position: { generation: 1, offset: next }, payload: Buffer.from(text) }),
  );
  await turns();
};
const note = async (one: LogNote) => {
  outputs.at(-1)?.enqueue(encodeNote(7, one));
  await turns();
};
const freeBytes = () => {
  let bytes = 0;
  for (let window = windows.take(); window > 16_384; window = windows.take()) bytes += window;
  return bytes;
};

test('P174: output is read from the gateway of the last start, and of the next one until there is no other', async () => {
  await open({ first: { generation: 2 } });
  const args = (generation: number) => [
    ...['life.1', 4, { service: 7, generation }, 0, 'raw', LOG_WINDOW_BYTES],
    {},
  ];
  expect(opens).toMatchObject([{ gateway: 3, args: args(1) }]);
  outputs[0]?.enqueue(heartbeat());
  await output('one');
  await note({ ended: true });
  expect(opens.slice(1)).toMatchObject([{ gateway: 3, args: args(2) }]);
  await output('two');
  await note({ missing: 2 });
  expect([read, end]).toEqual([['one', 'two'], 'the rest of the log is no longer available']);
  expect([opens.length, closed, hasLeft]).toEqual([2, [], true]);
});

test('P174: the log ends once its last start has, if the coordinator knows of no further one', async () => {
  await open();
  await output('one');
  await note({ ended: true });
  expect(end).toBeUndefined();
  await news({ final: true });
  expect([read, end, hasLeft]).toEqual([['one'], 'closed', true]);
});

test.each([
  ['is refused by the host', () => note({ trouble: 'no space' }), 'no space', 0],
  ['is of a coordinator that has restarted', () => coordinator.close(), 'the coordinator has restarted', 1],
  [
    'is of a host that was removed',
    () => outputs[0]?.error(new Error('gone')) ?? news({ removed: true, final: true, at: null }),
    'the host of the log was removed',
    0,
  ],
])('P174: a log that %s ends', async (_, act, error, closings) => {
  await open();
  await output('one');
  await act();
  await turns();
  expect([end, closed]).toEqual([error, opens.slice(0, closings).map(({ reader }) => reader)]);
});

test('P174: a log without a state ends with its coordinator, and one whose gateway refuses has its reason', async () => {
  const failed = open({ first: { at: null } });
  await turns();
  await failed;
  coordinator.close();
  await turns();
  expect([opens, end]).toEqual([[], 'the coordinator has restarted']);
  serve = async () => Promise.reject(new OperationError('unavailable', 'no room'));
  await open();
  expect(end).toBe('no room');
});

test('P174: a host that serves its maximum refuses a log by name, before the answer begins', async () => {
  serve = async () => 'full';
  await expect(open()).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('Host one'),
  });
  expect(hasLeft).toBe(true);
  expect(freeBytes()).toBe(freeBytesAtFirst);
});
const freeBytesAtFirst = (() => {
  windows = new LogWindows();
  return freeBytes();
})();

test.each([
  ['does not have the log', async () => undefined],
  ['fails', () => Promise.reject(new Error('reset'))],
])(
  'P174: a gateway that %s is asked again after a second, or where the coordinator has news',
  async (_, fails) => {
    serve = fails as typeof serve;
    await open();
    expect(opens).toHaveLength(1);
    await news({ at: atGateway({ sent: 5 }) });
    await vi.advanceTimersByTimeAsync(999);
    expect(opens).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(opens.map(({ args }) => args[1])).toEqual([4, 5]);
    serve = async (stream) => stream;
    await news({ at: atGateway({ connection: 'life.2', gateway: 9 }) });
    expect(opens[2]).toMatchObject({
      gateway: 9,
      args: ['life.2', 4, expect.anything(), 0, 'raw', LOG_WINDOW_BYTES, {}],
    });
    await output('here', 4, 2);
    expect([read, end]).toEqual([['here'], undefined]);
  },
);

test('P10, P174: after a connection has ended the log goes on at the next one, where it was', async () => {
  await open();
  await output('one');
  outputs[0]?.error(new Error('the connection of the host has ended'));
  await turns();
  await news({ at: null });
  await news({ at: atGateway({ connection: 'life.2' }) });
  expect(opens.map(({ args }) => args.slice(0, 4))).toEqual([
    ['life.1', 4, { service: 7, generation: 1 }, 0],
    ['life.2', 4, { service: 7, generation: 1 }, 3],
  ]);
  await output(' two', 7);
  expect([read, closed]).toEqual([['one', ' two'], []]);
});

test('P9, P174: what a reader leaves unread waits at the gateway, and a reader who leaves closes the log there', async () => {
  const reader = await open({ isStalled: true });
  const [first = { reader: '' }] = opens;
  const half = 'x'.repeat(LOG_WINDOW_BYTES / 2);
  for (const nth of [1, 2]) await output(half, (nth * LOG_WINDOW_BYTES) / 2);
  await output('y', LOG_WINDOW_BYTES + 1);
  await note({ ended: true });
  expect(opens).toHaveLength(1);
  for (const length of [half.length, half.length, 1]) {
    expect((await reader.read()).value?.length).toBe(length);
    await turns();
  }
  await news({ generation: 2 });
  expect(opens).toHaveLength(2);
  await reader.cancel();
  await turns();
  expect([closed, opens[1]?.isCancelled, hasLeft]).toEqual([[opens[1]?.reader], true, true]);
  expect(first.reader).not.toBe(opens[1]?.reader);
  expect(freeBytes()).toBe(freeBytesAtFirst);
});

test('P174: a reader who leaves before the gateway has answered leaves no log there', async () => {
  const late = Promise.withResolvers<Served>();
  serve = (stream) => late.promise.then(() => stream);
  const opening = open({ isStalled: true });
  await turns();
  coordinator.close();
  late.resolve(undefined);
  const reader = await opening;
  await expect(reader.read()).rejects.toThrow('the coordinator has restarted');
  await turns();
  expect([closed, opens[0]?.isCancelled]).toEqual([[opens[0]?.reader], true]);
});

test('P174: a gateway that does not answer a close delays the last line by 10 s at most', async () => {
  await open({ lastLine: 'Your access has ended.' });
  await output('cut');
  closes = () => new Promise(() => {});
  await news({ ended: 'Log in again.', lostAccess: true });
  await vi.advanceTimersByTimeAsync(9_999);
  await turns();
  expect(end).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  await turns();
  expect([read, end]).toEqual([['cut', '\nYour access has ended.\n'], 'closed']);
});

test('H501: a part that is not followed ends where the log is, and heartbeats of the coordinator pass to framed readers', async () => {
  await open({ part: { follow: false, tail: 2 }, first: { final: true } });
  expect(opens[0]?.args.at(-1)).toEqual({ follow: false, tail: 2 });
  await output('last\n');
  await note({ ended: true });
  expect([read, end]).toEqual([['last\n'], 'closed']);
  read = [];
  await open({ isFramed: true });
  coordinator.enqueue(Buffer.from('\n'));
  await turns();
  expect(read).toEqual([Buffer.from(heartbeat()).toString()]);
});
