import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { testsReaching } from '../../support/tools/changes.ts';
import { furtherNeeds, needs } from '../../support/tools/needs.ts';

const importing = (path: string, ...files: string[]) => ({ path, imports: files.map((file) => ({ file })) });
const sources = [
  importing('agent/a.ts'),
  importing('agent/b.ts', 'agent/a.ts'),
  importing('test/unit/b.test.ts', 'agent/b.ts'),
  importing('test/unit/c.test.ts'),
  importing('test/unit/tools/reader.test.ts'),
  importing('test/smoke/start.test.ts'),
];

test('a change reaches the tests that import it, those that read the sources and, for the program, those that start it', () => {
  expect(testsReaching(['agent/a.ts'], sources)).toEqual([
    ...['test/unit/b.test.ts', 'test/unit/tools/reader.test.ts', 'test/smoke/start.test.ts'],
  ]);
  expect(testsReaching(['docs/a.md'], sources)).toEqual(['test/unit/tools/reader.test.ts']);
  expect(testsReaching(['test/unit/c.test.ts'], sources)).toContain('test/unit/c.test.ts');
  expect(testsReaching([], sources)).toEqual([]);
});

test.each([...needs, ...furtherNeeds])('tests that need $name exist', ({ tests }) => {
  for (const pattern of tests) expect(globSync(pattern), pattern).not.toEqual([]);
});
