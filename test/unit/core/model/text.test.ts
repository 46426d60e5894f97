/** Amounts as text, on the server and in the browser alike: both load the same file. */
import { expect, test } from 'vitest';
import { coresText, memoryText, shortened } from '../../../../control-plane/core/model/text.ts';

test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [1023, '1023 bytes'],
  [1024, '1.0 KiB'],
  [2 ** 20 - 1, '1.0 MiB'],
  [2 ** 20, '1.0 MiB'],
  [1.5 * 2 ** 30, '1.5 GiB'],
  [2 ** 40 - 1, '1.0 TiB'],
  [2 ** 53 - 1, '8.0 PiB'],
])('W74, W81: %i bytes of memory are written as %s', (bytes, text) => {
  expect(memoryText(bytes)).toBe(text);
});

test.each([
  [0, '0 cores'],
  [0.1, '0.1 cores'],
  [0.25, '0.25 cores'],
  [1, '1 core'],
  [1.00001, '1 core'],
  [12.3456, '12.35 cores'],
])('W81: %d cores are written as %s', (cores, text) => {
  expect(coresText(cores)).toBe(text);
});

test.each([
  ['short enough', 12, 'short enough'],
  ['in the middle of a word', 20, 'in the middle of a…'],
  ['x'.repeat(300), 200, `${'x'.repeat(199)}…`],
  [`a ${'x'.repeat(100)}`, 60, `a ${'x'.repeat(57)}…`],
  ['half 😀😀', 7, 'half…'],
  ['12345😀', 6, '12345…'],
  ['one\ntwo three', 9, 'one\ntwo…'],
])('W228: %j in %i characters is %j', (text, maxLength, cut) => {
  expect(shortened(text, maxLength)).toBe(cut);
  expect(cut.isWellFormed()).toBe(true);
});
