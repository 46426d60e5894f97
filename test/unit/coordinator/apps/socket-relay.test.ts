/** The relay of WebSockets where the runtime has only whole messages. */
import { beforeEach, expect, test } from 'vitest';
import type { AgentPipe } from '../../../../control-plane/coordinator/apps/agent-pipe.ts';
import {
  MAX_MESSAGE_BYTES,
  MAX_UNHEARD_BYTES,
  MAX_WAITING_BYTES,
  SocketRelay,
} from '../../../../control-plane/coordinator/apps/socket-relay.ts';
import { TestClock } from '../../../support/rigs/test-clock.ts';
import { eventually } from '../../../support/tools/eventually.ts';

let written: Uint8Array[];
let sent: (string | Uint8Array)[];
let closes: unknown[];
let mayWrite: Promise<void>;
let isPipeClosed: boolean;
let clock: TestClock;

beforeEach(() => {
  [written, sent, closes, isPipeClosed, mayWrite] = [[], [], [], false, Promise.resolve()];
  clock = new TestClock();
});

/** A frame of a server, whose length is below 64 KiB. */
const frame = (first: number, payload: Uint8Array | string): Uint8Array => {
  const bytes = Buffer.from(payload);
  const head =
    bytes.length < 126 ? [first, bytes.length] : [first, 126, bytes.length >> 8, bytes.length & 255];
  return Buffer.concat([Buffer.from(head), bytes]);
};

function relayOf(frames: Iterable<Uint8Array>): SocketRelay {
  const source = frames[Symbol.iterator]();
  const pipe = {
    write: async (bytes: Uint8Array) => {
      await mayWrite;
      written.push(bytes);
    },
    close: () => {
      isPipeClosed = true;
    },
  } as unknown as AgentPipe;
  const read = async () => source.next().value as Uint8Array | undefined;
  const browser = {
    send: (data: string | Uint8Array) => void sent.push(data),
    close: (...args: unknown[]) => void closes.push(args),
  };
  return new SocketRelay(browser, { status: 101, headers: [], read, pipe }, clock);
}

test('H714: messages in fragments of any size become whole ones, pings are answered, and the close passes', async () => {
  const all = Buffer.concat([
    ...[frame(0x01, 'te'), frame(0x89, 'ping'), frame(0x80, 'xt'), frame(0x82, new Uint8Array(300))],
    frame(0x88, Buffer.from([0x0f, 0xa0, 0x62, 0x79, 0x65])),
  ]);
  await relayOf(Array.from(all, (byte) => Uint8Array.of(byte))).run();
  expect(sent).toEqual(['text', new Uint8Array(300)]);
  expect(closes).toEqual([[4000, 'bye']]);
  await eventually(() => expect(written.map(([first]) => first)).toEqual([0x8a, 0x88]));
});
test('H714: a message that is too long closes both ends with 1009', async () => {
  const part = frame(0x00, new Uint8Array(60_000));
  function* frames() {
    yield frame(0x02, 'x');
    for (let n = 0; n * 60_000 <= MAX_MESSAGE_BYTES; n += 1) yield part;
  }
  await relayOf(frames()).run();
  expect(closes).toEqual([[1009, expect.any(String)]]);
  expect(sent).toEqual([]);
});
test('H714: a browser that is sent too much without a message of its own is disconnected with 1013', async () => {
  const message = frame(0x82, new Uint8Array(60_000));
  const most = Math.floor(MAX_UNHEARD_BYTES / 60_000);
  await relayOf(Array.from({ length: most + 9 }, () => message)).run();
  expect(sent).toHaveLength(most);
  expect(closes).toEqual([[1013, expect.any(String)]]);
});
test('H714: an application that reads nothing of its browser ends the WebSocket with 1013', async () => {
  mayWrite = new Promise(() => {});
  const relay = relayOf([]);
  const message = new Uint8Array(MAX_MESSAGE_BYTES / 2);
  for (let n = 0; n < MAX_WAITING_BYTES / message.length; n += 1) relay.fromBrowser(message);
  expect(closes).toEqual([[1013, expect.any(String)]]);
  expect(isPipeClosed).toBe(true);
});
/** A frame that was written to the application, without its mask. */
function unmasked(bytes: Uint8Array): [opcode: number, payload: Buffer] {
  const mask = bytes.subarray(2, 6);
  return [(bytes[0] ?? 0) & 15, Buffer.from(bytes.subarray(6).map((byte, at) => byte ^ (mask[at & 3] ?? 0)))];
}
const closeOfCode = (code: number) => Buffer.from([code >> 8, code & 255]);
const turns = () => new Promise(setImmediate);

test.each([
  ['a text within a message', [frame(0x01, 'a'), frame(0x81, 'b')], 1002],
  ['a message of 16 MiB and one byte', [longFrame(MAX_MESSAGE_BYTES), frame(0x80, 'x')], 1009],
  ['text that is not UTF-8', [frame(0x81, Uint8Array.of(0xff))], 1007],
  ['a continuation of nothing', [frame(0x80, 'x')], 1002],
  ['a frame of an unknown kind', [frame(0x83, 'x')], 1002],
])('H714: an application that sends %s is told why, once', async (_, frames, code) => {
  await relayOf(frames).run();
  expect([sent, closes, isPipeClosed]).toEqual([[], [[code, expect.any(String)]], true]);
  expect(written.map((one) => unmasked(one)[1].subarray(0, 2))).toEqual([closeOfCode(code)]);
});
test.each([
  ['masked', Uint8Array.of(0x81, 0x81, 0, 0, 0, 0, 1)],
  ['of an extension', frame(0xc1, 'x')],
])('H714: a frame that is %s closes the WebSocket', async (_, bytes) => {
  await relayOf([bytes]).run();
  expect([sent, closes.length]).toEqual([[], 1]);
});
/** The first frame of a message of bytes, which is not the last one. */
function longFrame(length: number): Uint8Array {
  const bytes = Buffer.alloc(10 + length);
  bytes.set([0x02, 127]);
  bytes.writeBigUInt64BE(BigInt(length), 2);
  return bytes;
}

test('H714: a message of 16 MiB passes in both directions, and one byte more of a browser does not', async () => {
  const relay = relayOf([longFrame(MAX_MESSAGE_BYTES), frame(0x80, '')]);
  await relay.run();
  expect(sent.map(({ length }) => length)).toEqual([MAX_MESSAGE_BYTES]);
  [closes, isPipeClosed] = [[], false];
  const other = relayOf([]);
  other.fromBrowser(new Uint8Array(MAX_MESSAGE_BYTES));
  expect(closes).toEqual([]);
  other.fromBrowser(new Uint8Array(MAX_MESSAGE_BYTES + 1));
  expect([closes, isPipeClosed]).toEqual([[[1009, expect.any(String)]], true]);
});
test('H714: a message of the browser allows the application as much again', async () => {
  let relay: SocketRelay | undefined;
  const half = longFrame(MAX_UNHEARD_BYTES / 2);
  function* frames() {
    for (let n = 0; n < 4; n++) {
      if (n === 2) relay?.fromBrowser('more');
      yield* [half, frame(0x80, '')];
    }
  }
  relay = relayOf(frames());
  await relay.run();
  expect([sent.length, closes]).toEqual([4, [[1001, expect.any(String)]]]);
});
test('H714: messages of the browser become frames in their order, and one that has waited counts no longer', async () => {
  const relay = relayOf([]);
  const long = new Uint8Array(MAX_MESSAGE_BYTES);
  for (let n = 0; n < 3; n++) {
    relay.fromBrowser(long);
    await eventually(() => written.length === n + 1);
    await turns();
  }
  written = [];
  relay.fromBrowser('text');
  relay.fromBrowser(Buffer.from('bytes'));
  await eventually(() => written.length === 2);
  expect(written.map(unmasked)).toEqual([
    [1, Buffer.from('text')],
    [2, Buffer.from('bytes')],
  ]);
  expect(closes).toEqual([]);
});
test('H714: an application that does not read its pongs gets no more of them', async () => {
  let releases = () => {};
  mayWrite = new Promise((resolve) => {
    releases = resolve;
  });
  const relay = relayOf([...Array.from({ length: 99 }, () => frame(0x89, 'ping')), frame(0x8a, 'pong')]);
  await relay.run();
  releases();
  await eventually(() => written.length === 64);
  await turns();
  expect(written.map(unmasked)).toEqual(Array.from({ length: 64 }, () => [10, Buffer.from('ping')]));
});
test.each([
  [4001, [8, Buffer.concat([closeOfCode(4001), Buffer.from('bye')])]],
  [undefined, [8, Buffer.concat([closeOfCode(1001), Buffer.from('bye')])]],
])(
  'H714: a browser that closes with %s is not closed again, and the application has 5 s',
  async (code, close) => {
    const relay = relayOf([frame(0x81, 'late')]);
    for (let n = 0; n < 2; n++) relay.browserClosed(code, 'bye');
    await eventually(() => written.length === 1);
    await turns();
    expect(written.map(unmasked)).toEqual([close]);
    clock.pass(4_999);
    expect(isPipeClosed).toBe(false);
    clock.pass(1);
    expect(isPipeClosed).toBe(true);
    await relay.run();
    expect([sent, closes]).toEqual([[], []]);
  },
);
test('H714: a close without a code has none at the browser, and is answered so', async () => {
  await relayOf([frame(0x88, '')]).run();
  expect(closes).toEqual([[undefined, '']]);
  await eventually(() => written.length === 1);
  expect([written.map(unmasked), isPipeClosed]).toEqual([[[8, Buffer.alloc(0)]], true]);
});
