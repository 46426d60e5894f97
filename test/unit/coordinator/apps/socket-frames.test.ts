/** Frames of WebSockets as bytes, and what may never be taken for one. */
import { expect, test } from 'vitest';
import {
  closeFrame,
  closeOf,
  closePayload,
  FrameReader,
  maskedFrame,
} from '../../../../control-plane/coordinator/apps/socket-frames.ts';

/** The head of a server's frame of that length, in the shortest form. */
function headOf(first: number, length: number): Uint8Array {
  if (length < 126) return Uint8Array.of(first, length);
  const head = Buffer.alloc(length < 65_536 ? 4 : 10);
  head.writeUInt8(first);
  head.writeUInt8(length < 65_536 ? 126 : 127, 1);
  if (length < 65_536) head.writeUInt16BE(length, 2);
  else head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}

const read = (bytes: Uint8Array, extensions = false) => [...new FrameReader({ extensions }).push(bytes)];

test.each([0, 1, 125, 126, 127, 65_535, 65_536, 70_000])(
  'H714: a frame of %i bytes is read as it was sent, between others and in two pieces, and one to the application is masked',
  (length) => {
    const payload = Uint8Array.from({ length }, (_, at) => at % 251);
    const frame = Buffer.concat([headOf(0x82, length), payload]);
    const whole = { opcode: 2, isFinal: true, bytes: payload, isFirst: true, isLast: true };
    const reader = new FrameReader({ extensions: false });
    expect(reader.isBetweenFrames).toBe(true);
    expect([...reader.push(Buffer.concat([frame, headOf(0x01, 0), frame]))].map(plain)).toEqual([
      whole,
      { opcode: 1, isFinal: false, bytes: new Uint8Array(), isFirst: true, isLast: true },
      whole,
    ]);
    expect(reader.isBetweenFrames).toBe(true);
    const cut = frame.length - Math.ceil(length / 2);
    const parts = [frame.subarray(0, cut), frame.subarray(cut)].flatMap((part, nth) => {
      const found = [...reader.push(part)];
      expect(reader.isBetweenFrames).toBe(nth === 1 || length === 0);
      return found.map(plain);
    });
    expect(Buffer.concat(parts.map(({ bytes }) => bytes)).equals(payload)).toBe(true);
    expect(parts.map(({ isFirst }) => isFirst)).toEqual(parts.map((_, nth) => nth === 0));
    expect(parts.map(({ isLast }) => isLast)).toEqual(parts.map((_, nth) => nth === parts.length - 1));

    const sent = maskedFrame(2, payload);
    const head = headOf(0x82, length);
    expect([sent[0], (sent[1] ?? 0) - 0x80]).toEqual([head[0], head[1]]);
    expect(sent.subarray(2, head.length)).toEqual(new Uint8Array(head.subarray(2)));
    const mask = sent.subarray(head.length, head.length + 4);
    expect(sent.subarray(head.length + 4).map((byte, at) => byte ^ (mask[at % 4] ?? 0))).toEqual(payload);
  },
);
const plain = <T extends { bytes: Uint8Array }>(part: T) => ({ ...part, bytes: new Uint8Array(part.bytes) });

test.each([
  ['masked', [0x81, 0x80], /not agreed/],
  ['of an extension', [0xc1, 0], /not agreed/],
  ['of a reserved bit', [0x91, 0], /not agreed/],
  ['a control frame of 126 bytes', [0x89, 126, 0, 126], /too long/],
  ['a control frame in parts', [0x09, 0], /too long/],
  ['a close in parts', [0x08, 0], /too long/],
])('H714: a frame that is %s is refused, and bits of agreed extensions are not', (what, bytes, error) => {
  const isAgreed = what.startsWith('of ');
  expect(() => read(Uint8Array.from(bytes))).toThrow(error);
  if (isAgreed) expect(read(Uint8Array.from(bytes), true)).toMatchObject([{ opcode: 1, isFinal: true }]);
  else expect(() => read(Uint8Array.from(bytes), true)).toThrow(error);
});

test('H714: a control frame of 125 bytes is read', () => {
  expect(read(Buffer.concat([headOf(0x8a, 125), new Uint8Array(125)]))).toMatchObject([{ opcode: 10 }]);
});

test('H714: a close has its code and reason, cut to what a frame takes, and neither without a code', () => {
  expect(closeOf(closePayload(4_000, 'bye'))).toEqual({ code: 4_000, reason: 'bye' });
  expect(closeOf(closePayload(1_000, ''))).toEqual({ code: 1_000, reason: '' });
  expect(closePayload(1_005, 'never sent')).toHaveLength(0);
  for (const payload of [[], [3]])
    expect(closeOf(Uint8Array.from(payload))).toEqual({ code: 1_005, reason: '' });
  const [close, ...others] = read(closeFrame(1_001, 'x'.repeat(200)));
  expect([close?.opcode, close?.isFinal, close?.bytes.length, others]).toEqual([8, true, 125, []]);
  expect(closeOf(close?.bytes ?? new Uint8Array())).toEqual({ code: 1_001, reason: 'x'.repeat(123) });
  // A part of a larger buffer, as sockets give them.
  const within = Buffer.concat([Buffer.from('before'), closePayload(4_001, 'why')]).subarray(6);
  expect(closeOf(within)).toEqual({ code: 4_001, reason: 'why' });
});
