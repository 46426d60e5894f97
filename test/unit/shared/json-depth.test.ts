import { expect, test } from 'vitest';
import { afterSpace, depthOf, depthProblem, endOfString } from '../../../shared/json-depth.ts';
import { fc } from '../../support/tools/random-cases.ts';

const depthOfValue = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? 1 + Math.max(0, ...Object.values(value).map((one) => depthOfValue(one)))
    : 0;

test('H307: the depth of a JSON text is that of its value, whatever its strings contain', () => {
  const brackets = fc.string({ unit: fc.constantFrom('[', '{', '}', ']', '"', '\\', 'a', 'é') });
  fc.assert(
    fc.property(fc.jsonValue(), brackets, (value, text) => {
      const all = [value, text, { [text]: value }];
      expect(depthOf(JSON.stringify(all))).toBe(depthOfValue(all));
    }),
  );
});

test.each([
  ['', 0],
  ['1', 0],
  ['"[["', 0],
  ['"[[', 0],
  ['"\\"[[" []', 1],
  ['"\\\\" [[]]', 2],
  ['[{"a":[]}]', 3],
  [']]]]', 0],
  ['['.repeat(1000), 1000],
  ['!\u000b[', 1],
  [`${' '.repeat(100)}[${'\n'.repeat(100)}{${'\t'.repeat(100)}`, 2],
])('H307: the depth of %j is %i, even if it is not JSON', (text, depth) => {
  expect(depthOf(text)).toBe(depth);
});

test('H307: the problem names the depth, the limit and the remedy', () => {
  expect(depthProblem('['.repeat(64) + ']'.repeat(64))).toBeUndefined();
  const problem = 'has 65 levels of lists and objects within each other; the limit is 64: remove levels';
  expect(depthProblem('['.repeat(65) + ']'.repeat(65))).toBe(problem);
});

test('H307: a string ends at its first quote without an odd number of backslashes before it, and JSON has four kinds of white space', () => {
  expect(endOfString('"a\\"b\\\\" "', 0)).toBe(7);
  expect(endOfString('"a', 0)).toBe(2);
  for (const length of [0, 1, 15, 16, 17, 10_000]) {
    const space = ' \n\r\t'.repeat(length).slice(0, length);
    for (const next of ['{', 'é', '\u000b', '\u00a0', ''])
      expect(afterSpace(`1${space}${next}`, 1)).toBe(length + 1);
  }
});
