/** The relay of WebSockets, with the browser's socket of a runtime that has only whole messages. */
import { beforeEach, expect, test } from 'vitest';
import { MAX_WAITING_BYTES, SocketRelay } from '../../../../control-plane/coordinator/apps/socket-relay.ts';
import {
  MAX_UNHEARD_BYTES,
  ObjectBrowser,
} from '../../../../control-plane/coordinator/runtime/apps/object-browser.ts';
import type { AgentPipe } from '../../../../control-plane/coordinator/streams/agent-pipe.ts';
import {
  decodeClose,
  encodeClose,
  encodeMessage,
  encodePart,
  kinds,
  MAX_MESSAGE_BYTES,
  type MessagePart,
  MessageReader,
} from '../../../../shared/streams/socket-messages.ts';
import { TestClock } from '../../../support/rigs/test-clock.ts';
import { eventually } from '../../../support/tools/eventually.ts';

let written: MessagePart[];
let sent: (string | Uint8Array)[];
let closes: unknown[];
let mayWrite: Promise<void>;
let isPipeClosed: boolean;
let clock: TestClock;

beforeEach(() => {
  [written, sent, closes, isPipeClosed, mayWrite] = [[], [], [], false, Promise.resolve()];
  clock = new TestClock();
});

function rigOf(pieces: Iterable<Uint8Array>) {
  const source = pieces[Symbol.iterator]();
  const reader = new MessageReader();
  const pipe = {
    write: async (bytes: Uint8Array) => {
      await mayWrite;
      written.push(...reader.push(bytes));
    },
    close: () => {
      isPipeClosed = true;
    },
  } as unknown as AgentPipe;
  const read = async () => source.next().value as Uint8Array | undefined;
  const browser = new ObjectBrowser(
    {
      send: (data) => void sent.push(data as string | Uint8Array),
      close: (...args: unknown[]) => void closes.push(args),
    },
    pipe,
  );
  return { browser, relay: new SocketRelay(browser, { status: 101, headers: [], read, pipe }, clock) };
}
const relayOf = (pieces: Iterable<Uint8Array>): SocketRelay => rigOf(pieces).relay;
const text = (content: string, isFinal = true) =>
  encodePart({ kind: kinds.text, bytes: Buffer.from(content), isFinal });
const ofLength = (length: number, isFinal = true) =>
  encodePart({ kind: kinds.binary, bytes: new Uint8Array(length), isFinal });
const writtenCodes = () => written.map(({ bytes }) => decodeClose(bytes).code);
const turns = () => new Promise(setImmediate);

test('H714: messages in parts of any size become whole ones, pings are answered, and the close passes', async () => {
  const all = Buffer.concat([
    ...[text('te', false), encodeMessage(kinds.ping, Buffer.from('ping')), text('xt'), ofLength(300)],
    encodeClose(4000, Buffer.from('bye')),
  ]);
  await relayOf(Array.from(all, (byte) => Uint8Array.of(byte))).run();
  expect(sent).toEqual(['text', new Uint8Array(300)]);
  expect(closes).toEqual([[4000, 'bye']]);
  expect(isPipeClosed).toBe(true);
  await eventually(() => written.length === 1);
  expect(written).toMatchObject([{ kind: kinds.pong, bytes: Uint8Array.from(Buffer.from('ping')) }]);
});
test('H714: a message that is too long closes both ends with 1009', async () => {
  function* parts() {
    for (let n = 0; n * 60_000 <= MAX_MESSAGE_BYTES; n += 1) yield ofLength(60_000, false);
  }
  await relayOf(parts()).run();
  expect(closes).toEqual([[1009, expect.any(String)]]);
  expect([sent, writtenCodes()]).toEqual([[], [1009]]);
});
test('H714: a browser that is sent too much without a message of its own is disconnected with 1013', async () => {
  const most = Math.floor(MAX_UNHEARD_BYTES / 60_000);
  await relayOf(Array.from({ length: most + 9 }, () => ofLength(60_000))).run();
  expect(sent).toHaveLength(most);
  expect([closes, writtenCodes()]).toEqual([[[1013, expect.any(String)]], [1013]]);
});
test('H714: a message of the browser allows the application as much again', async () => {
  const half = ofLength(MAX_UNHEARD_BYTES / 4);
  let heard = () => {};
  function* pieces() {
    for (let n = 0; n < 8; n++) {
      if (n === 4) heard();
      yield half;
    }
  }
  const { browser, relay } = rigOf(pieces());
  heard = () => browser.heard();
  await relay.run();
  expect([sent.length, closes]).toEqual([8, [[1001, expect.any(String)]]]);
});
test('H714: an application that reads nothing of its browser ends the WebSocket with 1013', async () => {
  mayWrite = new Promise(() => {});
  const relay = relayOf([]);
  const message = new Uint8Array(MAX_MESSAGE_BYTES / 2);
  for (let n = 0; n < MAX_WAITING_BYTES / message.length; n += 1)
    void relay.fromBrowser(kinds.binary, message);
  expect(closes).toEqual([[1013, expect.any(String)]]);
  expect(isPipeClosed).toBe(true);
});
test('H714: text that is not UTF-8 closes both ends with 1007', async () => {
  await relayOf([encodeMessage(kinds.text, Uint8Array.of(0xff))]).run();
  expect([sent, closes, isPipeClosed]).toEqual([[], [[1007, expect.any(String)]], true]);
  expect(writtenCodes()).toEqual([1007]);
});
test('H714: an agent that sends no messages closes the WebSocket', async () => {
  await relayOf([Uint8Array.of(3, 0, 0, 0, 0)]).run();
  expect([sent, closes, isPipeClosed]).toEqual([[], [[1001, expect.any(String)]], true]);
});
test('H714: a message of 16 MiB passes in both directions, and one byte more of a browser does not', async () => {
  await relayOf([ofLength(MAX_MESSAGE_BYTES)]).run();
  expect(sent.map(({ length }) => length)).toEqual([MAX_MESSAGE_BYTES]);
  [closes, isPipeClosed] = [[], false];
  const other = relayOf([]);
  await other.fromBrowser(kinds.binary, new Uint8Array(MAX_MESSAGE_BYTES));
  expect([closes, written[0]?.bytes.length]).toEqual([[], MAX_MESSAGE_BYTES]);
  await other.fromBrowser(kinds.binary, new Uint8Array(MAX_MESSAGE_BYTES + 1));
  expect([closes, isPipeClosed]).toEqual([[[1009, expect.any(String)]], true]);
});
test('H714: messages of the browser pass in their order, and one that has waited counts no longer', async () => {
  const relay = relayOf([]);
  const long = new Uint8Array(MAX_MESSAGE_BYTES);
  for (let n = 0; n < 3; n++) await relay.fromBrowser(kinds.binary, long);
  expect(relay.waitingBytes).toBe(0);
  written = [];
  void relay.fromBrowser(kinds.text, Buffer.from('text'));
  await relay.fromBrowser(kinds.binary, Buffer.from('bytes'));
  expect(written.map(({ kind, bytes }) => [kind, Buffer.from(bytes).toString()])).toEqual([
    [kinds.text, 'text'],
    [kinds.binary, 'bytes'],
  ]);
  expect(closes).toEqual([]);
});
test('H714: an application that does not read its pongs gets no more of them', async () => {
  let releases = () => {};
  mayWrite = new Promise((resolve) => {
    releases = resolve;
  });
  const ping = encodeMessage(kinds.ping, Buffer.from('ping'));
  await relayOf([...Array.from({ length: 99 }, () => ping), encodeMessage(kinds.pong)]).run();
  releases();
  await eventually(() => written.length === 64);
  await turns();
  expect(new Set(written.map(({ kind }) => kind))).toEqual(new Set([kinds.pong]));
  expect(written).toHaveLength(64);
});
test.each([
  [4001, 4001],
  [undefined, 1001],
])(
  'H714: a browser that closes with %s is not closed again, and the application has 5 s',
  async (code, passed) => {
    const relay = relayOf([text('late')]);
    for (let n = 0; n < 2; n++) relay.browserClosed(code, 'bye');
    await eventually(() => written.length === 1);
    await turns();
    expect(
      written.map(({ bytes }) => [decodeClose(bytes).code, Buffer.from(bytes.subarray(2)).toString()]),
    ).toEqual([[passed, 'bye']]);
    clock.pass(4_999);
    expect(isPipeClosed).toBe(false);
    clock.pass(1);
    expect(isPipeClosed).toBe(true);
    await relay.run();
    expect([sent, closes]).toEqual([[], []]);
  },
);
test('H714: a close without a code has none at the browser', async () => {
  await relayOf([encodeMessage(kinds.close)]).run();
  expect([closes, isPipeClosed]).toEqual([[[]], true]);
});
