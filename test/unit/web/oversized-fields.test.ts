import { expect, test } from 'vitest';
import { readValue } from '../../../control-plane/core/shop/parameter-values.ts';
import { nameIn } from '../../../control-plane/web/components/form.ts';
import { checkSimple, readSimple } from '../../../control-plane/web/description/simple-application.ts';

/** The largest body. An algorithm that reads characters repeatedly takes minutes for it. */
const MAX_BYTES = 2 ** 20;

test('H1: a name and a number as long as a body are refused after one pass', () => {
  const { problems } = checkSimple(readSimple(new URLSearchParams({ name: `a${'-'.repeat(MAX_BYTES)}a` })));
  expect(problems).toHaveProperty('name');
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

test('W45: a name of a megabyte is shown again in part, and stays invalid; blanks around it are no part of it', () => {
  const read = (name: string) => nameIn(new URLSearchParams({ name }));
  for (const long of ['&'.repeat(MAX_BYTES), `a${' '.repeat(MAX_BYTES - 2)}b`]) {
    const name = read(long);
    expect(name.length).toBe(1_001);
    expect(checkSimple(readSimple(new URLSearchParams({ name }))).problems?.name).toMatch(/128/);
  }
  const blanks = ' '.repeat(MAX_BYTES / 4);
  expect(read(`${blanks}abc${blanks}`)).toBe('abc');
});
