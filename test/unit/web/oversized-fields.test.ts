import { expect, test } from 'vitest';
import { readValue } from '../../../control-plane/core/shop/parameter-values.ts';
import { shortText } from '../../../control-plane/web/components/form.ts';
import { checkSimple, readSimple } from '../../../control-plane/web/description/simple-application.ts';

/** The largest body. An algorithm that reads characters repeatedly takes minutes for it. */
const MAX_BYTES = 2 ** 20;

test('H1: a name as long as a body is refused, whatever characters it has', () => {
  const { problems } = checkSimple(readSimple(new URLSearchParams({ name: `a${'-'.repeat(MAX_BYTES)}a` })));
  expect(problems).toHaveProperty('name');
});

test('H1: a text as long as a body is refused as a number after one pass', () => {
  const parameter = { type: 'float', default: '1', min: null, max: null, step: null } as const;
  expect(readValue(parameter, `${'1'.repeat(MAX_BYTES)}x`)).toEqual({ problem: 'must be a number' });
  for (const text of ['1', '1.', '.5', '+1.5e3']) expect(readValue(parameter, text)).toEqual({ value: text });
});

test('H306: only the variables that a description may have are read, with the lines where they are', () => {
  const problemOf = (environment: string) =>
    checkSimple(readSimple(new URLSearchParams({ environment }))).problems?.environment;
  const blank = `\n \r\n\n${'\n'.repeat(MAX_BYTES)}`;
  expect(problemOf(`${blank}A`)).toBe(`line ${MAX_BYTES + 4} must be NAME=value`);
  expect(problemOf('A=1\n\n  B=2\n\t\n=3\n')).toMatch(/^line 5: /);
  expect(problemOf('A=1\n'.repeat(MAX_BYTES / 4))).toMatch(/1,?000/);
});

test.each([
  ['an ampersand', '&'],
  ['a digit', '1'],
  ['a zero', '0'],
  ['a blank within', `a${' '.repeat(MAX_BYTES - 2)}b`],
])('W45: names and numbers of a megabyte of %s are shown again in part, and stay invalid', (_, character) => {
  const text = `${character.repeat(MAX_BYTES / character.length)}1`;
  const fields = { name: text, memory: text, memory_unit: 'MiB', cores: text, 'port_number-0': text };
  const simple = readSimple(new URLSearchParams({ ...fields, image: 'a', 'port_name-0': text }));
  expect(JSON.stringify(simple).length).toBeLessThan(10_000);
  const invalid = ['name', 'memory', 'cores', 'port_number-0'];
  expect(Object.keys(checkSimple(simple).problems ?? {})).toEqual(expect.arrayContaining(invalid));
});

test('W45: blanks around a name are no part of it, however many', () => {
  const blanks = ' '.repeat(MAX_BYTES / 4);
  expect(shortText(new URLSearchParams({ name: `${blanks}abc${blanks}` }), 'name')).toBe('abc');
});
