/** The threat model of docs/security.md: each line names rules that exist, and tests that prove them. */
import { expect, test } from 'vitest';
import { definedIn, rulesOf, titlesIn } from '../../support/reports/rules.ts';
import { projectFiles } from '../../support/tools/sources.ts';
import { linesOfThreatModel } from '../../support/tools/threat-model.ts';

const files = projectFiles();
const textOf = (path: string): string => {
  const file = files.find((one) => one.path === path);
  if (!file) throw new Error(`${path} does not exist`);
  return file.text;
};
const rules = ['control-plane/SPEC.md', 'shared/protocol/PROTOCOL.md', 'cli/SPEC.md'].flatMap((path) =>
  definedIn(textOf(path)),
);
const lines = linesOfThreatModel(textOf('docs/security.md'));

test('the threat model has a table for each kind of attacker', () => {
  const attackers = new Set(lines.map(({ who }) => who));
  expect([...attackers]).toEqual([
    'A stranger',
    'Another web site',
    'A user',
    'A web application',
    'A container',
    'A host',
    'An administrator',
  ]);
});

test.each(lines)(
  '$who must never $never: the rules exist and the tests prove them',
  ({ rules: named, tests }) => {
    expect(named.filter((rule) => !rules.includes(rule))).toEqual([]);
    const proved = new Map(tests.map((path) => [path, new Set(titlesIn(textOf(path)).flatMap(rulesOf))]));
    const without = named.filter((rule) => ![...proved.values()].some((found) => found.has(rule)));
    expect(without, 'rules that no named test has in a title').toEqual([]);
    const idle = [...proved].filter(([, found]) => !named.some((rule) => found.has(rule)));
    expect(
      idle.map(([path]) => path),
      'tests without any of the rules',
    ).toEqual([]);
  },
);
