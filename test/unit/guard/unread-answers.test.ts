import { expect, test } from 'vitest';
import { unreadBeyond } from '../../../control-plane/guard/unread-answers.ts';
import { fc } from '../../support/tools/random-cases.ts';

const answers = (sizes: Record<string, number[]>) =>
  Object.entries(sizes).flatMap(([address, own]) => own.map((bytes, nth) => ({ address, bytes, nth })));
const gone = (sizes: Record<string, number[]>, limit: number) =>
  unreadBeyond(answers(sizes), limit).map(({ address, nth }) => `${address}${nth}`);

test('H378: beyond the limit an address with more than its share loses its oldest answers, and no other loses any', () => {
  expect(gone({}, 10)).toEqual([]);
  expect(gone({ a: [1, 1], b: [8] }, 10)).toEqual([]);
  expect(gone({ a: [3, 3, 3, 3], b: [2], c: [3] }, 10)).toEqual(['a0', 'a1', 'a2']);
  expect(gone({ a: [9, 1], b: [9, 1] }, 10)).toEqual(['a0', 'b0']);
});

test('H378: whatever is unread, the rest is within the limit, and an address within its share keeps all', () => {
  const address = fc.constantFrom('a', 'b', 'c', 'd');
  const unread = fc.array(fc.record({ address, bytes: fc.integer({ min: 1, max: 50 }) }), { maxLength: 40 });
  fc.assert(
    fc.property(unread, fc.integer({ min: 0, max: 300 }), (all, limit) => {
      const lost = new Set(unreadBeyond(all, limit));
      const kept = all.filter((one) => !lost.has(one));
      const total = (some: typeof all) => some.reduce((sum, { bytes }) => sum + bytes, 0);
      expect(total(kept)).toBeLessThanOrEqual(limit);
      const owners = new Set(all.map((one) => one.address));
      for (const owner of owners) {
        const own = all.filter((one) => one.address === owner);
        if (total(own) <= limit / owners.size) expect(own.some((one) => lost.has(one))).toBe(false);
      }
    }),
  );
});
