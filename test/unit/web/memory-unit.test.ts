import { expect, test } from 'vitest';
import { memoryBytes, memoryEntry } from '../../../control-plane/web/components/memory-unit.ts';
import { fc } from '../../support/tools/random-cases.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

test('W74, W96: a form shows bytes in the largest unit in which they are short', () => {
  const entries = [0, 16 * MIB, 256 * MIB, GIB, 1.5 * GIB, 1025 * MIB, 1_234_567].map(memoryEntry);
  const shown = entries.map(({ amount, unit }) => `${amount} ${unit}`);
  expect(shown.join(', ')).toBe('0 GiB, 16 MiB, 256 MiB, 1 GiB, 1.5 GiB, 1025 MiB, 1.177 MiB');
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
