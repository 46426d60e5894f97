import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkRules, titlesIn } from '../../support/reports/rules.ts';
import { sourcesIn } from '../../support/tools/sources.ts';

const ROOT = join(import.meta.dirname, '../../..');
const DOCUMENTS = ['control-plane/SPEC.md', 'shared/protocol/PROTOCOL.md', 'cli/SPEC.md'];

test('every rule of the documents has a test, and every rule in a title exists', () => {
  const texts = DOCUMENTS.map((path) => readFileSync(join(ROOT, path), 'utf8'));
  const sources = sourcesIn('test').filter(({ path }) => !path.startsWith('test/unit/reports/'));
  expect(
    checkRules(
      texts,
      sources.flatMap(({ text }) => titlesIn(text)),
    ),
  ).toEqual([]);
});

const documents = ['# Rules\n\n- **H1** One, as in H9.\n- **H2** Two.', '- **P1** Three.'];

test('rules at the beginning of titles are proved, including several rules of one title', () => {
  expect(checkRules(documents, ['H1: one', 'H2, P1: both'])).toEqual([]);
});

test('a rule without a title has no test', () => {
  expect(checkRules(documents, ['H1: one, unlike H2: two'])).toEqual(['H2 has no test', 'P1 has no test']);
});

test('titles are found in sources of tests, those of groups and of tables included', () => {
  const source = "describe('H2: group', () => test.each([1])(`P1, H1: %s`, () => {})); // H3: none";
  expect(titlesIn(source)).toEqual(['H2:', 'P1, H1:']);
});

test('a title with a rule that does not exist is reported', () => {
  const titles = ['H1: one', 'H2, P1: both', 'H9: nothing', 'H1, C9: half'];
  expect(checkRules(documents, titles)).toEqual([
    'the rule does not exist: H9: nothing',
    'the rule does not exist: H1, C9: half',
  ]);
});

test('a title that almost begins with a rule is reported', () => {
  expect(checkRules(['- **H1** One.'], ['H1: one', 'H1 P2: two'])).toEqual([
    'rules must be separated by commas and followed by a colon: H1 P2: two',
  ]);
});

test('a rule that is defined twice is reported', () => {
  expect(checkRules(['- **H1** One.', '- **H1** Two.'], ['H1: one'])).toEqual(['H1 is defined twice']);
});
