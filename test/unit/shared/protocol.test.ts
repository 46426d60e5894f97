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
import { PROTOCOL_VERSION } from '../../../shared/protocol/version.ts';

/**
 * Hashes of the schemas by version. If this test fails, the shape of a message has changed: raise the
 * version, and give the reason in version.ts.
 */
const HASHES: Record<number, string> = {
  1: '3db6fb38f7b1cd31',
  2: 'bc6e8017a90761f9',
  3: '81d62ec4493f545d',
  4: '77cdb08bc0355d11',
  5: '013948c687341110',
  6: 'd410a343a32fafe8',
  7: '5092451842d4424a',
  8: 'cdd0aab3b009cb74',
  9: 'b285fc3cd38b02bf',
};

test('P2: the messages have the shape of their protocol version', () => {
  const schemas = JSON.stringify([z.toJSONSchema(upSchema), z.toJSONSchema(downSchema)]);
  expect(createHash('sha256').update(schemas).digest('hex').slice(0, 16)).toBe(HASHES[PROTOCOL_VERSION]);
});

test('a message is decoded as it was encoded', () => {
  const stop = { type: 'stop', revision: 3, service: 1, generation: 2 } as const;
  expect(decodeDown(encode(stop))).toEqual(stop);
  const report = {
    type: 'report' as const,
    sequence: 1,
    observations: [{ state: 'gone' as const, service: 1, generation: 2 }],
    forgotten: [4],
  };
  expect(decodeUp(encode(report))).toEqual(report);
});

test('a message with a field of a later version is decoded without that field', () => {
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
  const assignment = { service: 1, generation: 1, environment: [['PASSWORD', 'secret']], image: 7 };
  const start = JSON.stringify({ type: 'start', revision: 1, assignment });
  expect(() => decodeDown(start)).toThrow(/^(?!.*secret).*assignment\/image/);
});

test.each([0, 1, 2 ** 32, Number.MAX_SAFE_INTEGER])('a log chunk carries the offset %d exactly', (next) => {
  const payload = new Uint8Array([1, 2, 3]);
  expect(decodeChunk(encodeChunk({ stream: 2 ** 32 - 1, next, payload }))).toEqual({
    stream: 2 ** 32 - 1,
    next,
    payload,
  });
});

test('a log chunk is decoded from within a larger buffer', () => {
  const frame = encodeChunk({ stream: 5, next: 9, payload: new Uint8Array([7]) });
  const larger = new Uint8Array(frame.byteLength + 8);
  larger.set(frame, 8);
  expect(decodeChunk(larger.subarray(8))).toEqual({ stream: 5, next: 9, payload: new Uint8Array([7]) });
});

test('a log chunk shorter than its header is refused', () => {
  expect(() => decodeChunk(new Uint8Array(11))).toThrow(ProtocolError);
});

test('close codes are distinct, and determine when to reconnect', () => {
  const codes = Object.values(closeCodes).map(({ code }) => code);
  expect(new Set(codes).size).toBe(codes.length);
  expect(retryAfter(4000)).toBe('now');
  expect(retryAfter(4409)).toBe('never');
  expect(retryAfter(1006)).toBe('backoff');
});
