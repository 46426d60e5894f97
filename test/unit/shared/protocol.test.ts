import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { closeCodes, retryAfter } from '../../../shared/protocol/close.ts';
import {
  decodeChunk,
  decodeDown,
  decodeUp,
  encode,
  encodeChunk,
  ProtocolError,
} from '../../../shared/protocol/codec.ts';
import { downSchema } from '../../../shared/protocol/down.ts';
import { upSchema } from '../../../shared/protocol/up.ts';
import { PROTOCOL_HASH } from '../../../shared/protocol/version.ts';
import { assignment } from '../../support/fixtures/assignments.ts';

test('P2: the hash is that of the messages', () => {
  const schemas = JSON.stringify([z.toJSONSchema(upSchema), z.toJSONSchema(downSchema)]);
  const hash = createHash('sha256').update(schemas).digest('hex').slice(0, 16);
  expect(hash, 'the shape of a message has changed: write this hash into version.ts').toBe(PROTOCOL_HASH);
});

test('a message is decoded as it was encoded, without the fields of a later version', () => {
  const stop = { type: 'stop', revision: 3, service: 1, generation: 2 } as const;
  expect(decodeDown(encode(stop))).toEqual(stop);
  const observations = [{ state: 'gone' as const, service: 1, generation: 2 }];
  const report = { type: 'report' as const, sequence: 1, observations, forgotten: [4] };
  expect(decodeUp(encode(report))).toEqual(report);
  expect(decodeDown('{"type":"ack","sequence":1,"later":true}')).toEqual({ type: 'ack', sequence: 1 });
});

test.each([
  ['not JSON', 'a text frame is not JSON'],
  ['{}', 'does not match'],
  ['{"type":"ack","sequence":1}', 'does not match'],
  ['{"type":"report","sequence":0,"observations":[],"forgotten":[]}', 'sequence: too_small'],
])('the frame %s is refused: %s', (text, message) => {
  expect(() => decodeUp(text)).toThrow(ProtocolError);
  expect(() => decodeUp(text)).toThrow(message);
});

test('an error about a message does not repeat its values, which may be secret', () => {
  const odd = { ...assignment({ environment: [['PASSWORD', 'secret']] }), image: 7 };
  const start = JSON.stringify({ type: 'start', revision: 1, assignment: odd });
  expect(() => decodeDown(start)).toThrow(/^(?!.*secret).*assignment\/image/);
});

test('a chunk carries its channel, its payload and whether it is the last, also within a larger buffer, and one that is shorter than its header is refused', () => {
  for (const channel of [0, 1, 2 ** 31 - 1]) {
    const last = channel === 1 ? {} : { isLast: true };
    const chunk = { channel, payload: new Uint8Array([1, 2, 3]), ...last };
    const frame = encodeChunk(chunk);
    expect(decodeChunk(frame)).toEqual(chunk);
    const larger = new Uint8Array(frame.byteLength + 8);
    larger.set(frame, 8);
    expect(decodeChunk(larger.subarray(8))).toEqual(chunk);
  }
  expect(() => decodeChunk(new Uint8Array(3))).toThrow(ProtocolError);
});

test('close codes are distinct, and determine when to reconnect', () => {
  const codes = Object.values(closeCodes).map(({ code }) => code);
  expect(new Set(codes).size).toBe(codes.length);
  expect(retryAfter(4000)).toBe('now');
  expect(retryAfter(4409)).toBe('never');
  expect(retryAfter(1006)).toBe('backoff');
});
