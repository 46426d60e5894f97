/**
 * The commands that README.md and the guides show, run as they stand. docs/changing-berth.md lists the marks.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runnableBlocksOf } from '../../support/tools/documents.ts';
import { runDocument } from '../../support/tools/runnable.ts';

const documents = ['README.md', ...readdirSync('docs').map((name) => `docs/${name}`)]
  .filter((path) => path.endsWith('.md'))
  .filter((path) => runnableBlocksOf(readFileSync(path, 'utf8')).length > 0);

test('README.md and the user guide have commands to run', () => {
  expect(documents).toEqual(expect.arrayContaining(['README.md', 'docs/user-guide.md']));
});

test.each(documents.map((path, at) => [path, at] as const))(
  'the commands of %s do what the document promises, on Node 20',
  async (path, at) => {
    await runDocument(path, `document${at}`);
  },
);
