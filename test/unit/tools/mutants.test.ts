import { expect, test } from 'vitest';
import { changesOf, drawn } from '../../../tools/mutants/draw.ts';
import { sourcesIn } from '../../support/tools/sources.ts';

const sources = sourcesIn('control-plane/coordinator/streams', 'control-plane/store', 'agent/services');

const of = (...lines: string[]): (string | undefined)[] =>
  changesOf({ path: 'agent/a.ts', text: lines.join('\n') }).map(({ after }) => after?.trim());

test('the same seed gives the same draw, and another seed another one', () => {
  const first = drawn(sources, 'one').slice(0, 20);
  expect(drawn(sources.toReversed(), 'one').slice(0, 20)).toEqual(first);
  expect(drawn(sources, 'two').slice(0, 20)).not.toEqual(first);
});

test('texts and types never change', () => {
  const types = ['export interface A {', '  one: true;', '}', "type B = 'a' | 1;", ''];
  expect(of(...types, "const c = 'a < b && 1';", `const d = \`\${a} + \${b === 1}\`; // !a`)).toEqual([]);
  expect(of('const e = /a && 1/.exec(text);')).toEqual([]);
});

test.each([
  ['if (a === b) {', ['if (a !== b) {']],
  ['x = a < b;', ['x = a <= b;']],
  ['x = waitMs < limitMs;', ['x = waitMs >= limitMs;']],
  ['x = a && !b;', ['x = a || !b;', 'x = a && b;']],
  ['x = at(0) + b;', ['x = at(1) + b;', 'x = at(0) - b;']],
  ['if (a) {', ['if (!a) {']],
  ['return a ?? b;', ['return b;']],
  ['x = [...one].some(isDone);', ['x = [...one].every(isDone);']],
  ['const MAX_TRIES = 5;', []],
])('%s becomes %j', (line, expected) => {
  expect(of(line)).toEqual(expected);
});

test('a statement on one line is removed, and a part of a longer one is not', () => {
  expect(of('{', '  this.#close(a);', '}')).toEqual([undefined]);
  expect(of('{', '  if (a) return;', '}')).toEqual(['if (!a) return;', undefined]);
  expect(of('{', '  if (isVeryLong)', '    this.#close(a);', '}')).toEqual(['if (!isVeryLong)']);
});

test('SQL changes in the store alone', () => {
  const line = 'const sql = `SELECT id FROM a WHERE b = ? AND c IS NULL`;';
  const inStore = changesOf({ path: 'control-plane/store/a.ts', text: line }).map(({ after }) => after);
  expect(inStore.map((after) => after?.slice(30, -2))).toEqual([
    'WHERE b <> ? AND c IS NULL',
    'WHERE b = ? AND c IS NOT NULL',
    'WHERE b = ? OR c IS NULL',
  ]);
  expect(of(line)).toEqual([]);
});
