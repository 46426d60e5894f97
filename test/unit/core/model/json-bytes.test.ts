import { expect, test } from 'vitest';
import { jsonBytes, utf8Bytes } from '../../../../control-plane/core/model/json-bytes.ts';
import { application, service } from '../../../support/fixtures/descriptions.ts';

const bytesOf = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value)).length;

const allCharacters = Array.from({ length: 0x1_0000 }, (_, code) => String.fromCharCode(code))
  .filter((character) => character.isWellFormed())
  .join('');

test.each([
  ['a description', application(service({ labels: ['a', 'b'], environment: [['A', 'b']] }))],
  ['every character', allCharacters],
  ['characters beyond U+FFFF', '😀\u{10ffff}'],
  ['numbers', [0, -1, 0.1, 1e21, 1e-7, 2 ** 53]],
  ['other values', [null, true, false, [], {}, [[]], { a: undefined }, { a: undefined, 'ä"': [null] }]],
])('C173: the bytes of JSON are counted without making it: %s', (_, value) => {
  expect(jsonBytes(value)).toBe(bytesOf(value));
});

test.each(['', 'plain', 'ä€😀', '\ud800', 'x'.repeat(1_000_000), '\0\x7f\x80'])(
  'the bytes of a text are those of its UTF-8',
  (text) => {
    expect(utf8Bytes(text)).toBe(new TextEncoder().encode(text).length);
  },
);
