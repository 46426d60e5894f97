/** Messages of WebSockets as bytes of channels. */
import { expect, test } from 'vitest';
import {
  decodeClose,
  encodeClose,
  encodeMessage,
  encodePart,
  kinds,
  MessageMemory,
  type MessagePart,
  MessageReader,
} from '../../../shared/streams/socket-messages.ts';

const read = (...pieces: Uint8Array[]): MessagePart[] => {
  const reader = new MessageReader();
  return pieces.flatMap((piece) => [...reader.push(piece)]);
};

test.each([0, 1, 125, 65_536, 70_000])(
  'H714: a message of %i bytes is read as it was written, wherever it is cut',
  (length) => {
    const payload = Uint8Array.from({ length }, (_, at) => at);
    const both = Buffer.concat([
      encodePart({ kind: kinds.text, bytes: payload, isFinal: false }),
      encodeMessage(kinds.text, payload),
    ]);
    for (const at of [0, 1, 4, 5, 6, length + 5, length + 8, both.length - 1]) {
      const parts = read(both.subarray(0, at), both.subarray(at));
      expect(Buffer.concat(parts.map(({ bytes }) => bytes))).toEqual(Buffer.concat([payload, payload]));
      expect(parts.map(({ isFinal }) => isFinal)).toEqual(parts.map((part) => part === parts.at(-1)));
    }
  },
);
test('H714: a ping is one part, wherever it is cut', () => {
  const ping = encodeMessage(kinds.ping, Buffer.from('alive'));
  for (let at = 0; at <= ping.length; at++)
    expect(read(ping.subarray(0, at), ping.subarray(at))).toEqual([
      { kind: kinds.ping, bytes: Uint8Array.from(Buffer.from('alive')), isFinal: true },
    ]);
});
test.each([
  ['of an unknown kind', Uint8Array.of(3, 0, 0, 0, 0)],
  ['of a ping of 126 bytes', Uint8Array.of(9, 0, 0, 0, 126)],
  ['of a part of a close', Uint8Array.of(0x88, 0, 0, 0, 2)],
])('H714: bytes %s are no messages', (_, bytes) => {
  expect(() => read(bytes)).toThrow();
});
test('H714: a close has its code and reason, cut to what a close takes, and no code that may not be sent', () => {
  const closeOf = (...close: Parameters<typeof encodeClose>) => {
    const { code, reason } = decodeClose(encodeClose(...close).subarray(5));
    return [code, Buffer.from(reason).toString()];
  };
  expect(closeOf(4000, Buffer.from('bye'))).toEqual([4000, 'bye']);
  expect(closeOf(1000, Buffer.alloc(200, 'x'))).toEqual([1000, 'x'.repeat(123)]);
  for (const code of [undefined, 1005]) expect(closeOf(code, Buffer.from('bye'))).toEqual([undefined, '']);
  for (const code of [999, 1004, 1006, 1015, 2999, 5000])
    expect(closeOf(code, Buffer.alloc(0))[0]).toBeUndefined();
});
test('H714: all sockets together have at most so many bytes of messages in memory, beyond a little for each', () => {
  const memory = new MessageMemory(1_000_000);
  expect(memory.change(0, 1_000_000)).toBe(true);
  expect(memory.change(0, 256 * 1024)).toBe(true);
  expect(memory.change(0, 256 * 1024 + 1)).toBe(false);
  expect(memory.change(256 * 1024 + 1, 0)).toBe(true);
  memory.change(1_000_000, 0);
  expect(memory.change(0, 700_000)).toBe(true);
});
