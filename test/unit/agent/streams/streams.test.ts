/** The agent's side of streams: credit, bounds and ends, with targets that a test controls. */
import { beforeEach, expect, test } from 'vitest';
import type { Piece, Target } from '../../../../agent/engine/streams/target.ts';
import { Streams } from '../../../../agent/streams/streams.ts';
import { decodeChunk } from '../../../../shared/protocol/codec.ts';
import type { StreamUp } from '../../../../shared/protocol/up.ts';
import {
  MAX_STREAMS,
  STREAM_CHUNK_BYTES,
  STREAM_NUMBERS,
  STREAM_WINDOW_BYTES,
} from '../../../../shared/streams/targets.ts';
import { target } from '../../../support/fixtures/targets.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const FIRST = STREAM_NUMBERS;
let sent: StreamUp[];
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
let streams: Streams;

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
  streams = new Streams({
    open: async () => {
      if (openError) throw openError;
      return scripted();
    },
    send: (message) => sent.push(message),
    sendBytes: async (frame) => void received.push(decodeChunk(frame).payload.length),
  });
});

const open = (stream = FIRST, credit = STREAM_WINDOW_BYTES) =>
  streams.receive({
    ...{ type: 'stream.open', stream, service: 1, generation: 1, credit },
    target: { kind: 'tcp', port: 80 },
  });
const chunk = (length: number) =>
  streams.chunk({ stream: FIRST, next: length, payload: new Uint8Array(length) });
/** Opens a stream whose target has twice as much output as there is credit. */
const openedFull = () => {
  pieces = [{ bytes: new Uint8Array(2 * STREAM_WINDOW_BYTES) }];
  return opened();
};
const opened = async () => {
  open();
  await eventually(() => sent.some(({ type }) => type === 'stream.opened'));
};

test('P250: beyond the maximum of open streams a further one is refused, until another one ends', async () => {
  mayWrite = new Promise(() => {});
  for (let n = 0; n <= MAX_STREAMS; n += 1) open(FIRST + n);
  expect(sent).toMatchObject([{ type: 'stream.reset', stream: FIRST + MAX_STREAMS, refused: true }]);
  streams.receive({ type: 'stream.reset', stream: FIRST });
  open(FIRST + MAX_STREAMS + 1);
  expect(sent.filter(({ type }) => type === 'stream.reset')).toHaveLength(1);
});
test('P251: output stands still without credit, goes on with it, and comes in chunks of 64 KiB', async () => {
  await openedFull();
  const total = () => received.reduce((sum, length) => sum + length, 0);
  await eventually(() => expect(total()).toBe(STREAM_WINDOW_BYTES));
  streams.receive({ type: 'stream.credit', stream: FIRST, bytes: STREAM_WINDOW_BYTES });
  await eventually(() => expect(sent.at(-1)).toMatchObject({ type: 'stream.end', exitCode: 3 }));
  expect(total()).toBe(2 * STREAM_WINDOW_BYTES);
  expect(Math.max(...received)).toBe(STREAM_CHUNK_BYTES);
});
test('P251: input beyond the credit is a violation, and credit returns as the target takes bytes', async () => {
  mayWrite = new Promise(() => {});
  await openedFull();
  expect(chunk(STREAM_WINDOW_BYTES)).toBe(true);
  expect(chunk(1)).toBe(false);
});
test('P251: each quarter of the window that the target has taken is granted again', async () => {
  await openedFull();
  expect(chunk(STREAM_WINDOW_BYTES / 4)).toBe(true);
  const credit = { type: 'stream.credit', stream: FIRST, bytes: STREAM_WINDOW_BYTES / 4 };
  await eventually(() => expect(sent).toContainEqual(credit));
  expect(written).toBe(STREAM_WINDOW_BYTES / 4);
});
test('P255, P256: sizes of the terminal and signals reach the target', async () => {
  await openedFull();
  streams.receive({ type: 'stream.resize', stream: FIRST, columns: 80, rows: 24 });
  streams.receive({ type: 'stream.signal', stream: FIRST, signal: 'INT' });
  expect(orders).toEqual([{ columns: 80, rows: 24 }, 'INT']);
});
test('P252: the end of the connection disconnects all targets, and late messages have no effect', async () => {
  await openedFull();
  streams.closeAll();
  expect(destroyed).toBe(1);
  expect(chunk(10)).toBe(true);
  streams.receive({ type: 'stream.credit', stream: FIRST, bytes: 10 });
  expect(written).toBe(0);
});
test.each(['input', 'output'])(
  'P253: a connection to a port is over once both sides have ended, the %s first',
  async (first) => {
    exitCode = undefined;
    const { promise, resolve: endOutput } = Promise.withResolvers<void>();
    outputMayEnd = promise;
    await opened();
    const endInput = () => streams.receive({ type: 'stream.end', stream: FIRST });
    const ended = () => eventually(() => sent.some(({ type }) => type === 'stream.end'));
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
test('P254: each chunk of a channel begins with its number, within the credit', async () => {
  pieces = [{ bytes: new Uint8Array(STREAM_CHUNK_BYTES), channel: 2 }];
  open(FIRST, STREAM_CHUNK_BYTES);
  await eventually(() => expect(received).toEqual([STREAM_CHUNK_BYTES]));
  streams.receive({ type: 'stream.credit', stream: FIRST, bytes: 2 });
  await eventually(() => expect(received).toEqual([STREAM_CHUNK_BYTES, 2]));
});
test('P259: a target that cannot be opened is refused, with the reason', async () => {
  openError = new Error('the service is not running');
  open();
  const reset = { type: 'stream.reset', stream: FIRST, refused: true, message: openError.message };
  await eventually(() => expect(sent).toEqual([reset]));
});
test('P257: a target whose output fails resets the stream, with the reason, and is disconnected', async () => {
  outputError = new Error('the connection was reset');
  await opened();
  const reset = { type: 'stream.reset', stream: FIRST, refused: false, message: outputError.message };
  await eventually(() => expect(sent.at(-1)).toEqual(reset));
  expect(destroyed).toBe(1);
});
