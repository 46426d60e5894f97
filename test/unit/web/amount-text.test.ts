import { expect, test } from 'vitest';
import { coresText, memoryText } from '../../../control-plane/core/model/text.ts';
import * as browser from '../../../control-plane/web/browser/parts/amount-text.ts';
import { fc } from '../../support/tools/random-cases.ts';

test('W74, W81: browser and server write the same amount of memory in the same way', () => {
  const edges = [0, 1, 1023, 1024, 1025, 2 ** 20 - 1, 2 ** 20, 1.5 * 2 ** 30, 2 ** 40 - 1, 2 ** 53 - 1];
  for (const bytes of edges) expect(browser.memoryText(bytes)).toBe(memoryText(bytes));
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.nat(53), (number, shift) => {
      const bytes = Math.floor(number / 2 ** shift);
      expect(browser.memoryText(bytes)).toBe(memoryText(bytes));
    }),
  );
});

test('W81: browser and server write the same number of cores in the same way', () => {
  for (const cores of [0, 0.1, 0.25, 1, 1.00001, 12.3456])
    expect(browser.coresText(cores)).toBe(coresText(cores));
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e6, noNaN: true }), (cores) => {
      expect(browser.coresText(cores)).toBe(coresText(cores));
    }),
  );
});
