import { expect, test } from 'vitest';
import * as z from 'zod';
import { cutText, MAX_MESSAGE_LENGTH, MAX_OBSERVATIONS } from '../../../shared/protocol/bounds.ts';
import { decodeUp, ProtocolError } from '../../../shared/protocol/codec.ts';
import { downSchema } from '../../../shared/protocol/down.ts';
import { refusalSchema, registeredSchema, registrationSchema } from '../../../shared/protocol/enrolment.ts';
import { upSchema } from '../../../shared/protocol/up.ts';

/** Pointers of the texts and lists in a JSON Schema that have no bound. */
function unbounded(schema: unknown, path = ''): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { type, maxLength, maxItems, prefixItems, maximum, ...rest } = schema as Record<string, unknown>;
  const isOpenText = type === 'string' && maxLength === undefined && !('enum' in rest) && !('const' in rest);
  const isOpenList = type === 'array' && maxItems === undefined && prefixItems === undefined;
  const isOpenNumber =
    (type === 'number' || type === 'integer') && !(Number(maximum) < Number.MAX_SAFE_INTEGER);
  const below = Object.entries(schema).flatMap(([name, part]) => unbounded(part, `${path}/${name}`));
  if (isOpenNumber) return [`${path}: number`];
  return isOpenText || isOpenList ? [path, ...below] : below;
}

const isText = (pointer: string): boolean => !pointer.endsWith(': number');
const schemas = { upSchema, downSchema, registrationSchema, registeredSchema, refusalSchema };

test.each(Object.entries(schemas))('P136: every text and every list of %s has a bound', (_, schema) => {
  expect(unbounded(z.toJSONSchema(schema)).filter(isText)).toEqual([]);
});

test('P136: every number that an agent sends has a bound', () => {
  expect(unbounded(z.toJSONSchema(upSchema))).toEqual([]);
});

const report = (fields: object) =>
  JSON.stringify({ type: 'report', sequence: 1, observations: [], forgotten: [], ...fields });
const key = { service: 1, generation: 1 };
const gone = { ...key, state: 'gone' };

test.each([
  ['a container id of 1 MB', { observations: [{ ...key, state: 'created', containerId: 'c'.repeat(1e6) }] }],
  ['one observation more than allowed', { observations: Array(MAX_OBSERVATIONS + 1).fill(gone) }],
  ['the highest generation of a number', { observations: [{ ...gone, generation: 2 ** 53 - 1 }] }],
  ['more cores than any host has', { usage: { memoryBytes: 0, cores: 2 ** 53 } }],
])('P136: a report with %s does not parse', (_, fields) => {
  expect(() => decodeUp(report(fields))).toThrow(ProtocolError);
});

test('P137: a text for people is cut with a mark, not within a character, and the rest of its message counts', () => {
  const failed = { ...key, state: 'failed', temporary: false };
  const decoded = decodeUp(report({ observations: [{ ...failed, message: 'm'.repeat(8e6) }] }));
  const message = `${'m'.repeat(MAX_MESSAGE_LENGTH - 10)} ... (cut)`;
  expect(decoded).toMatchObject({ observations: [{ ...failed, message }] });
  expect(cutText('a\u{1f600}'.repeat(10), 14)).toBe('a\u{1f600}a ... (cut)');
  expect(cutText('a\u{1f600}'.repeat(4), 12)).toBe('a\u{1f600}'.repeat(4));
});
