import { expect, test } from 'vitest';
import { memoryBytes, memoryEntry } from '../../../control-plane/web/components/memory-unit.ts';
import { fc } from '../../support/tools/random-cases.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

test.each([
  [0, '0', 'GiB'],
  [16 * MIB, '16', 'MiB'],
  [256 * MIB, '256', 'MiB'],
  [GIB, '1', 'GiB'],
  [1.5 * GIB, '1.5', 'GiB'],
  [1025 * MIB, '1025', 'MiB'],
  [1_234_567, '1.177', 'MiB'],
])('W74, W96: a form shows %d bytes as %s %s', (bytes, amount, unit) => {
  expect(memoryEntry(bytes)).toEqual({ amount, unit });
});

test.each([
  ['1.5', 'GiB', 1.5 * GIB],
  [' 0,5 ', 'MiB', MIB / 2],
  ['0', 'GiB', 0],
  ['', 'GiB', Number.NaN],
  ['-1', 'GiB', Number.NaN],
  ['1e3', 'MiB', Number.NaN],
  ['1', 'KB', Number.NaN],
  ['1', 'toString', Number.NaN],
])('W74, W96: the entry "%s" %s is %d bytes', (amount, unit, bytes) => {
  expect(memoryBytes({ amount, unit })).toBe(bytes);
});

test('W74, W96: an entry that was not touched keeps the amount that was shown to the byte', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (bytes) => {
      expect(memoryBytes(memoryEntry(bytes), bytes)).toBe(bytes);
    }),
  );
});
