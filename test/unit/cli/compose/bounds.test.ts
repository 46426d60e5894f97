import { describe, expect, test } from 'vitest';
import { MAX_ALIASES, MAX_BYTES } from '../../../../cli/compose/document.ts';
import { ComposeError } from '../../../../cli/compose/remarks.ts';
import { cases, fc } from '../../../support/tools/random-cases.ts';
import { fill, mainFile, problemsOf, translated } from './translated.ts';

const service = mainFile('');
const aliases = (count: number) => `x-a: &a 1\nx-b: [${'*a,'.repeat(count)}]\n${service}`;

describe('L75: bounds', () => {
  test('L75: a file beyond its size is refused unread', () => {
    expect(translated(`${service}#${fill('x', MAX_BYTES - service.length - 1)}`)).toBeDefined();
    expect(problemsOf(fill('[', MAX_BYTES + 1))).toEqual([
      '1:1  has more than 256 KiB: divide the application',
    ]);
  });
  test('L75: aliases are counted', () => {
    expect(problemsOf(aliases(MAX_ALIASES))).toEqual([]);
    expect(problemsOf(aliases(MAX_ALIASES + 1))).toEqual([
      `2:${7 + 3 * MAX_ALIASES} x-b[200] is alias 201: use fewer`,
    ]);
  });
  test('L75: values that aliases multiply are refused, in lists and in merged mappings', () => {
    const tenfold = (one: (name: string) => string) =>
      Array.from({ length: 9 }, (_, n) => `x-${n + 1}: &a${n + 1} ${one(`*a${n}`)}\n`).join('');
    const lists = tenfold((before) => `[${`${before},`.repeat(10)}]`);
    const maps = tenfold((before) => `{<<: [${`${before},`.repeat(10)}]}`);
    expect(problemsOf(`x-0: &a0 [x]\n${lists}${service}`)[0]).toMatch(
      /^1:1 {2}has aliases that can't be followed/,
    );
    expect(problemsOf(`x-0: &a0 {x: y}\n${maps}${service}`)[0]).toMatch(/^1:1 {2}has aliases that can't be/);
    const large = `x-0: &a0 ${fill('x', 100_000)}\nx-1: [${'*a0,'.repeat(20)}]\n${service}`;
    expect(problemsOf(large)).toEqual(['1:1  has more than 1048576 characters with its aliases']);
  });
  test('L75: a value within itself is refused', () => {
    expect(problemsOf(`x-a: &a [*a]\n${service}`)[0]).toMatch(/^1:1 {2}has /);
  });
  test('L75: variables that multiply a text are refused, in one value and in several', () => {
    const env = { A: fill('x', 100_000) };
    const refused = 'has more than 1048576 characters with its variables';
    expect(problemsOf(mainFile(`command: ${'$A '.repeat(20)}`), { env })).toEqual([
      `4:5 services.main.command ${refused}`,
    ]);
    expect(problemsOf(mainFile(`command: [${'$A,'.repeat(20)}]`), { env })).toEqual([`1:1  ${refused}`]);
  });
  test('L75: an application has at most 100 services', () => {
    const file = (count: number) =>
      `services:\n${Array.from({ length: count }, (_, n) => `  abc${n}: {image: i}\n`).join('')}`;
    expect(translated(file(100)).description.services).toHaveLength(100);
    expect(problemsOf(file(101))).toEqual(['1:1 services has 101 services: an application has 1 to 100']);
  });
  test('L75: problems beyond 100 are not written', () => {
    const fields = Array.from({ length: 500 }, (_, n) => `f${n}: x`).join('\n');
    expect(problemsOf(mainFile(fields))).toHaveLength(100);
  });
});

test('L72, L75: any text is translated, or refused with places', () => {
  const word = fc.constantFrom(
    ...[
      'services',
      'main',
      'image',
      'i',
      'x-berth',
      'ports',
      '80',
      'environment',
      'A',
      '$A',
      '${A:-b}',
      '<<',
    ],
    ...[
      'command',
      'deploy',
      'replicas',
      '1',
      'volumes',
      './a:/b',
      'depends_on',
      '&a',
      '*a',
      '~',
      '"',
      "'",
      '#',
    ],
  );
  const mark = fc.constantFrom(
    ':',
    ': ',
    '\n',
    '\n  ',
    '\n    ',
    '\n      ',
    '- ',
    '{',
    '}',
    '[',
    ']',
    ', ',
    '| ',
  );
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
