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

test('the check reports rules without a title, and titles of no rule or of several without commas', () => {
  const source = "describe('H2: group', () => test.each([1])(`P1, H1: %s`, () => {})); // H3: none";
  expect(titlesIn(source)).toEqual(['H2:', 'P1, H1:']);
  expect(checkRules(documents, titlesIn(source))).toEqual([]);
  expect(checkRules(documents, ['H1: one, unlike H2: two', 'H1, C9: half', 'H1 P2: two'])).toEqual([
    'H2 has no test',
    'P1 has no test',
    'the rule does not exist: H1, C9: half',
    'rules must be separated by commas and followed by a colon: H1 P2: two',
  ]);
  expect(checkRules([...documents, '- **H1** Again.'], titlesIn(source))).toEqual(['H1 is defined twice']);
});
