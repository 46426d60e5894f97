/** The agent's side of channels: credit, bounds and ends, with targets that a test controls. */
import { beforeEach, expect, test } from 'vitest';
import { Channels, pauseOf } from '../../../../agent/channels/channels.ts';
import type { Piece, Target } from '../../../../agent/engine/streams/target.ts';
import { LogRetention } from '../../../../agent/logs/log-retention.ts';
import { decodeChunk } from '../../../../shared/protocol/codec.ts';
import type { ChannelUp } from '../../../../shared/protocol/up.ts';
import {
  CHUNK_BYTES,
  type ChannelTarget,
  MAX_CHANNELS,
  WINDOW_BYTES,
} from '../../../../shared/streams/targets.ts';
import { target } from '../../../support/fixtures/targets.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const PORT = { kind: 'tcp', port: 80 } as const;
const OUTPUT = { kind: 'output', offset: 0, format: 'raw' } as const;
const retention = new LogRetention('', [], { maxBytes: 1, punchHole: async () => {}, log: () => {} });
let sent: ChannelUp[];
let received: number[];
/** Sizes and signals that the target got. */
let orders: unknown[];
let written: number;
let destroyed: number;
let pieces: Piece[];
let openError: Error | undefined;
let outputError: Error | undefined;
let mayWrite: Promise<void>;
let exitCode: number | undefined;
let outputMayEnd: Promise<void>;
let channels: Channels;

const scripted = (): Target =>
  target({
    output: (async function* () {
      yield* pieces;
      await outputMayEnd;
      if (outputError) throw outputError;
    })(),
    write: async (bytes) => {
      await mayWrite;
      written += bytes.length;
    },
    exitCode: async () => exitCode,
    resize: ({ columns, rows }) => orders.push({ columns, rows }),
    signal: (signal) => orders.push(signal),
    destroy: () => {
      destroyed += 1;
    },
  });

beforeEach(() => {
  [sent, received, pieces, orders, outputError] = [[], [], [], [], undefined];
  [written, destroyed, openError, mayWrite] = [0, 0, undefined, Promise.resolve()];
  [exitCode, outputMayEnd] = [3, Promise.resolve()];
  channels = new Channels({
    open: async () => {
      if (openError) throw openError;
      return scripted();
    },
    output: {
      open: () => new Promise(() => {}),
      retention,
      mayWrite: () => true,
      usageOf: () => undefined,
    },
    send: (message) => sent.push(message),
    sendBytes: async (frame) => void received.push(decodeChunk(frame).payload.length),
  });
});

const open = (channel = 1, credit = WINDOW_BYTES, target: ChannelTarget = PORT) =>
  channels.receive({ type: 'channel.open', channel, service: 1, generation: 1, target, credit });
const chunk = (length: number) => channels.chunk({ channel: 1, payload: new Uint8Array(length) });
/** Opens a channel whose target has twice as much output as there is credit. */
const openedFull = () => {
  pieces = [{ bytes: new Uint8Array(2 * WINDOW_BYTES) }];
  return opened();
};
const opened = async () => {
  open();
  await eventually(() => sent.some(({ type }) => type === 'channel.opened'));
};

test.each([
  ['logs', OUTPUT, PORT],
  ['streams', PORT, OUTPUT],
] as const)(
  'P250: beyond the maximum of open %s a further one is refused, until another one ends',
  (what, target, other) => {
    for (let n = 0; n <= MAX_CHANNELS; n += 1) open(n, WINDOW_BYTES, target);
    open(MAX_CHANNELS + 1, WINDOW_BYTES, other);
    channels.receive({ type: 'channel.reset', channel: 0 });
    open(MAX_CHANNELS + 2, WINDOW_BYTES, target);
    const message = expect.stringContaining(`${MAX_CHANNELS} ${what} open`);
    const reset = { type: 'channel.reset', channel: MAX_CHANNELS, refused: true, message };
    expect(sent.filter(({ type }) => type === 'channel.reset')).toEqual([reset]);
  },
);
test('P156: channels to output pause the longer the more they are, and at least as long as the control plane requires', () => {
  expect([pauseOf(1, 0), pauseOf(10, 0), pauseOf(10, 500)]).toEqual([20, 40, 500]);
});
test('P251: output stands still without credit, goes on with it, and comes in chunks of 64 KiB', async () => {
  await openedFull();
  const total = () => received.reduce((sum, length) => sum + length, 0);
  await eventually(() => expect(total()).toBe(WINDOW_BYTES));
  channels.receive({ type: 'channel.credit', channel: 1, bytes: WINDOW_BYTES });
  await eventually(() => expect(sent.at(-1)).toMatchObject({ type: 'channel.end', exitCode: 3 }));
  expect(total()).toBe(2 * WINDOW_BYTES);
  expect(Math.max(...received)).toBe(CHUNK_BYTES);
});
test('P251: input beyond the credit is a violation, and credit returns as the target takes bytes', async () => {
  mayWrite = new Promise(() => {});
  await openedFull();
  expect(chunk(WINDOW_BYTES)).toBe(true);
  expect(chunk(1)).toBe(false);
});
test('P251: each quarter of the window that the target has taken is granted again', async () => {
  await openedFull();
  expect(chunk(WINDOW_BYTES / 4)).toBe(true);
  const credit = { type: 'channel.credit', channel: 1, bytes: WINDOW_BYTES / 4 };
  await eventually(() => expect(sent).toContainEqual(credit));
  expect(written).toBe(WINDOW_BYTES / 4);
});
test('P255, P256: sizes of the terminal and signals reach the target', async () => {
  await openedFull();
  channels.receive({ type: 'channel.resize', channel: 1, columns: 80, rows: 24 });
  channels.receive({ type: 'channel.signal', channel: 1, signal: 'INT' });
  expect(orders).toEqual([{ columns: 80, rows: 24 }, 'INT']);
});
test('P252: the end of the connection disconnects all targets, and late messages have no effect', async () => {
  await openedFull();
  channels.closeAll();
  expect(destroyed).toBe(1);
  expect(chunk(10)).toBe(true);
  channels.receive({ type: 'channel.credit', channel: 1, bytes: 10 });
  expect(written).toBe(0);
});
test.each(['input', 'output'])(
  'P253: a connection to a port is over once both sides have ended, the %s first',
  async (first) => {
    exitCode = undefined;
    const { promise, resolve: endOutput } = Promise.withResolvers<void>();
    outputMayEnd = promise;
    await opened();
    const endInput = () => channels.receive({ type: 'channel.end', channel: 1 });
    const ended = () => eventually(() => sent.some(({ type }) => type === 'channel.end'));
    if (first === 'input') {
      endInput();
      expect(chunk(1)).toBe(false);
      expect(destroyed).toBe(0);
      endOutput();
    } else {
      endOutput();
      await ended();
      expect([destroyed, chunk(1)]).toEqual([0, true]);
      endInput();
    }
    await ended();
    await eventually(() => destroyed === 1);
  },
);
test('P254: each chunk of a command without a terminal begins with its source, within the credit', async () => {
  pieces = [{ bytes: new Uint8Array(CHUNK_BYTES), source: 2 }];
  open(1, CHUNK_BYTES);
  await eventually(() => expect(received).toEqual([CHUNK_BYTES]));
  channels.receive({ type: 'channel.credit', channel: 1, bytes: 2 });
  await eventually(() => expect(received).toEqual([CHUNK_BYTES, 2]));
});
test('P259: a target that cannot be opened is refused, with the reason', async () => {
  openError = new Error('the service is not running');
  open();
  const reset = { type: 'channel.reset', channel: 1, refused: true, message: openError.message };
  await eventually(() => expect(sent).toEqual([reset]));
});
test('P257: a target whose output fails resets the channel, with the reason, and is disconnected', async () => {
  outputError = new Error('the connection was reset');
  await opened();
  const reset = { type: 'channel.reset', channel: 1, refused: false, message: outputError.message };
  await eventually(() => expect(sent.at(-1)).toEqual(reset));
  expect(destroyed).toBe(1);
});
