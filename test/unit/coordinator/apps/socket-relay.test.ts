/** The relay of WebSockets where the runtime has only whole messages. */
import { beforeEach, expect, test } from 'vitest';
import type { AgentPipe } from '../../../../control-plane/coordinator/apps/agent-pipe.ts';
import {
  MAX_MESSAGE_BYTES,
  MAX_UNHEARD_BYTES,
  MAX_WAITING_BYTES,
  SocketRelay,
} from '../../../../control-plane/coordinator/apps/socket-relay.ts';
import { eventually } from '../../../support/tools/eventually.ts';

let written: Uint8Array[];
let sent: (string | Uint8Array)[];
let closes: unknown[];
let mayWrite: Promise<void>;
let isPipeClosed: boolean;

beforeEach(() => {
  [written, sent, closes, isPipeClosed, mayWrite] = [[], [], [], false, Promise.resolve()];
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
  return new SocketRelay(browser, { status: 101, headers: [], read, pipe }, { after: () => () => {} });
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
test.each([
  ['masked', Uint8Array.of(0x81, 0x81, 0, 0, 0, 0, 1)],
  ['of an extension', frame(0xc1, 'x')],
  ['a continuation of nothing', frame(0x80, 'x')],
  ['of an unknown kind', frame(0x83, 'x')],
  ['a text that is not UTF-8', frame(0x81, Uint8Array.of(0xff))],
])('H714: a frame that is %s closes the WebSocket', async (_, bytes) => {
  await relayOf([bytes]).run();
  expect(sent).toEqual([]);
  expect(closes).toHaveLength(1);
});
