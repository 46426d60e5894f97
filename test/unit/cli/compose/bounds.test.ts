import { expect, test } from 'vitest';
import { MAX_BYTES } from '../../../../cli/compose/document.ts';
import { ComposeError } from '../../../../cli/compose/remarks.ts';
import { cases, fc } from '../../../support/tools/random-cases.ts';
import { fill, mainFile, mainOf, problemsOf, translated, variablesOf } from './translated.ts';

const service = mainFile('');

test('L75: a file beyond its size is refused unread', () => {
  expect(translated(`${service}#${fill('x', MAX_BYTES - service.length - 1)}`)).toBeDefined();
  const refused = '1:1  has more than 256 KiB: divide the application';
  expect(problemsOf(fill('[', MAX_BYTES + 1))).toEqual([refused]);
});
test('L75: a large file with thousands of aliases that stay small is accepted', () => {
  const count = 30;
  const one = (n: number) =>
    `  web${n}:\n    <<: [*base, *more]\n    environment: {<<: *known, N: *n}\n    x-list: [${'*n,'.repeat(200)}]\n`;
  const text = `x-n: &n 1\nx-known: &known {A: 1, B: x}\nx-base: &base {image: i}\nx-more: &more {image: j, restart: always}\nservices:\n`;
  const file = text + Array.from({ length: count }, (_, n) => one(n)).join('');
  const { description } = translated(file);
  expect(description.services).toHaveLength(count);
  expect(description.services[9]).toMatchObject({ image: 'i', restart: { attempts: 100 } });
  expect(variablesOf(description.services[9])).toEqual({ A: '1', B: 'x', N: '1' });
});
test('L75: values that aliases multiply are refused, in lists and in merged mappings', () => {
  const tenfold = (one: (name: string) => string) =>
    Array.from({ length: 9 }, (_, n) => `x-${n + 1}: &a${n + 1} ${one(`*a${n}`)}\n`).join('');
  const lists = tenfold((before) => `[${`${before},`.repeat(10)}]`);
  const maps = tenfold(
    (before) => `{${Array.from({ length: 10 }, (_, n) => `k${n}: ${before}`)}, <<: ${before}}`,
  );
  const large = `x-0: &a0 ${fill('x', 100_000)}\nx-1: [${'*a0,'.repeat(20)}]\n`;
  const keys = (count: number) => Array.from({ length: count }, (_, n) => `k${n}: ,`).join('');
  const wide = `x-0: &a0 {${keys(15_000)}}\n`;
  const refused = ['1:1  has more than 1048576 characters with its aliases'];
  for (const text of [
    `x-0: &a0 [x]\n${lists}`,
    `x-0: &a0 {x: y}\n${maps}`,
    large,
    // Each merges all keys again: in mappings, in one list, and where the keys are there already.
    wide + Array.from({ length: 190 }, (_, n) => `x-a${n}: {<<: *a0}\n`).join(''),
    `${wide}x-a: {<<: [${'*a0,'.repeat(190)}]}\n`,
    `x-0: &a0 {${keys(9_000)}}\nx-a: {${keys(9_000)} <<: [${'*a0,'.repeat(10_000)}]}\n`,
  ])
    expect(problemsOf(text + service)).toEqual(refused);
});
test('L75: a value within itself is refused, also by a merge key', () => {
  expect(problemsOf(`x-a: &a [*a]\n${service}`)[0]).toMatch(/^1:10 x-a\[0\] has the alias a within/);
  expect(problemsOf(`x-a: &a {<<: *a}\n${service}`)[0]).toMatch(/^1:10 x-a.<< has the alias a within/);
  expect(problemsOf(`x-a: &a {b: {c: [*a]}}\n${service}`)).toHaveLength(1);
});
test('L75: an alias has the value of the last anchor of its name above it', () => {
  const service = mainOf('environment: {A: &a 1, B: *a, C: &a "$$2", D: *a}');
  expect(variablesOf(service)).toEqual({ A: '1', B: '1', C: '$2', D: '$2' });
});
test('L75: keys win over merged ones wherever they stand, and earlier mappings over later ones', () => {
  const anchors = 'x-a: &a {A: a, B: a}\nx-b: &b {B: b, C: b}';
  const merged = mainOf(`${anchors}\nenvironment: {<<: [*a, *b], C: own}`);
  expect(variablesOf(merged)).toEqual({ A: 'a', B: 'a', C: 'own' });
  expect(mainOf('environment: {"<<": x}').environment).toEqual([['<<', 'x']]);
  const refused = 'must be a mapping, or a list of mappings';
  for (const wrong of ['1', '[{A: b}, 1]', '"x"', ''])
    expect(problemsOf(mainFile(`environment: {<<: ${wrong}}`))[0]).toContain(refused);
});
test('L75: variables that multiply a text are refused, in one value and in several', () => {
  const env = { A: fill('x', 100_000) };
  const refused = 'has more than 1048576 characters with its variables';
  expect(problemsOf(mainFile(`command: ${'$A '.repeat(20)}`), { env })).toEqual([
    `4:5 services.main.command ${refused}`,
  ]);
  expect(problemsOf(mainFile(`command: [${'$A,'.repeat(20)}]`), { env })).toEqual([`1:1  ${refused}`]);
});
test('L75: an application has at most 100 services, and problems beyond 100 are not written', () => {
  const file = (count: number) =>
    `services:\n${Array.from({ length: count }, (_, n) => `  abc${n}: {image: i}\n`).join('')}`;
  expect(translated(file(100)).description.services).toHaveLength(100);
  expect(problemsOf(file(101))).toEqual(['1:1 services has 101 services: an application has 1 to 100']);
  const fields = Array.from({ length: 500 }, (_, n) => `f${n}: x`).join('\n');
  expect(problemsOf(mainFile(fields))).toHaveLength(100);
});

test('L72, L75: any text is translated, or refused with places', () => {
  const words =
    'services main image i x-berth ports 80 environment A $A ${A:-b} << command deploy replicas 1';
  const more = 'volumes ./a:/b depends_on &a *a ~ " \' #';
  const word = fc.constantFrom(...`${words} ${more}`.split(' '));
  const mark = fc.constantFrom(':', ': ', '\n', '\n  ', '\n    ', '\n      ', '- ', ...'{}[]', ', ', '| ');
  const text = fc.array(fc.oneof(word, mark), { maxLength: 40 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(text, fc.boolean(), (tail, isWithin) => {
      try {
        translated(isWithin ? `${service}    ${tail}` : tail);
      } catch (error) {
        expect(error).toBeInstanceOf(ComposeError);
        for (const { line, column, message } of (error as ComposeError).problems)
          expect([line > 0, column > 0, message !== '']).toEqual([true, true, true]);
      }
    }),
    cases(100),
  );
});
