import { expect, test } from 'vitest';
import { readValue } from '../../../control-plane/core/shop/parameter-values.ts';
import { nameIn } from '../../../control-plane/web/components/form.ts';
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
  ['a blank within', `a${' '.repeat(MAX_BYTES - 2)}b`],
])('W45: a name of a megabyte of %s is shown again in part, and stays invalid', (_, character) => {
  const name = nameIn(new URLSearchParams({ name: character.repeat(MAX_BYTES / character.length) }));
  expect(name.length).toBe(1_001);
  expect(checkSimple(readSimple(new URLSearchParams({ name }))).problems?.name).toMatch(/128/);
});

test('W45: blanks around a name are no part of it, however many', () => {
  const blanks = ' '.repeat(MAX_BYTES / 4);
  expect(nameIn(new URLSearchParams({ name: `${blanks}abc${blanks}` }))).toBe('abc');
});
