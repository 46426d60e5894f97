import { expect, test } from 'vitest';
import { checkRules, titlesIn, titlesOf } from '../../support/reports/rules.ts';

const documents = ['# Rules\n\n- **H1** One, as in H9.\n- **H2** Two.', '- **P1** Three.'];

test('rules at the beginning of titles are proved, including several rules of one title', () => {
  expect(checkRules(documents, ['H1: one', 'H2, P1: both', 'no rule'])).toEqual([]);
});

test('a rule without a title has no test', () => {
  expect(checkRules(documents, ['H1: one, unlike H2: two'])).toEqual(['H2 has no test', 'P1 has no test']);
});

test('a rule counts as tested by a title in a source that another run has', () => {
  const source = `describe('H2: group', () => test.each([1])(\`P1, H1: %s\`, () => {}));`;
  expect(checkRules(documents, ['H1: one'], titlesIn(source))).toEqual([]);
  expect(checkRules(documents, ['H1: one'], titlesIn('// H2: two'))).toHaveLength(2);
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

test('titles are those of tests that ran and of their groups', () => {
  const assertion = (status: string, title: string, ...ancestorTitles: string[]) => ({
    status,
    title,
    ancestorTitles,
  });
  const testResults = [
    { assertionResults: [assertion('passed', 'one', 'group'), assertion('skipped', 'two')] },
    { assertionResults: [assertion('failed', 'three', 'group')] },
  ];
  expect(titlesOf(JSON.stringify({ testResults }))).toEqual(['group', 'one', 'three']);
});
