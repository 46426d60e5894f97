/** The documents of the repository: their links have targets, and the paths that they quote exist. */
import { posix } from 'node:path';
import { expect, test } from 'vitest';
import {
  anchorsOf,
  isThere,
  linksOf,
  quotedPathsOf,
  runnableBlocksOf,
} from '../../support/tools/documents.ts';
import { projectFiles } from '../../support/tools/sources.ts';

const all = projectFiles();
const paths = [...all.map(({ path }) => path), 'LICENSE'];
const documents = all.filter(({ path }) => path.endsWith('.md'));
const textOf = new Map(documents.map(({ path, text }) => [path, text]));
const roots = [...new Set(paths.flatMap((path) => (path.includes('/') ? [path.split('/')[0] ?? ''] : [])))];

const isFolder = (path: string): boolean => paths.some((one) => one.startsWith(`${path}/`));

/** Problem of a link in the document at `from`, or undefined. */
function problemOf(from: string, link: string): string | undefined {
  const [target = '', anchor] = link.split('#');
  if (target.startsWith('/')) return 'begins with "/": links must be relative to the document';
  const path =
    target === ''
      ? from
      : posix.join(posix.dirname(from), decodeURIComponent(target)).replace(/\/$/, '') || '.';
  if (path.startsWith('..')) return 'leads out of the repository';
  if (!paths.includes(path) && !isFolder(path)) return `leads to ${path}, which does not exist`;
  const text = textOf.get(path);
  if (anchor !== undefined && text !== undefined && !anchorsOf(text).has(anchor))
    return `leads to the anchor #${anchor}, which ${path} does not have`;
  return undefined;
}

test('the documents are found', () => {
  const found = [...textOf.keys()];
  expect(found).toEqual(expect.arrayContaining(['README.md', 'docs/user-guide.md', 'control-plane/SPEC.md']));
  expect(linksOf(textOf.get('README.md') ?? '').length).toBeGreaterThan(5);
});

test.each(documents.map(({ path, text }) => [path, text] as const))(
  '%s: every link leads to a file, every anchor to a heading, and every path of the repository in backticks exists',
  (path, text) => {
    const broken = linksOf(text).flatMap((link) => {
      const problem = problemOf(path, link);
      return problem ? [`the link ${link} ${problem}`] : [];
    });
    expect(broken).toEqual([]);
    const missing = quotedPathsOf(text, roots).filter((quoted) => !isThere(quoted, path, paths));
    expect(missing).toEqual([]);
  },
);

test('every mark of a runnable block is known', () => {
  for (const { path, text } of documents) expect(() => runnableBlocksOf(text), path).not.toThrow();
  expect(() => runnableBlocksOf('```sh runnable later="x"\n```')).toThrow('line 1 has an unknown mark');
  const [block] = runnableBlocksOf('```sh runnable prints="\\"a\\""\nls\n```');
  expect(block).toMatchObject({ text: 'ls\n', mark: { kind: 'prints', pattern: /"a"/ } });
});

test('no document or message shows how to run a TypeScript file with node, because Node 20 cannot', () => {
  const allowed = ['package.json', 'wrangler.toml'];
  const command = /\bnode (?:[\w./-]*\/)?[\w.-]+\.ts\b/;
  const shown = all.filter(({ path, text }) => !allowed.includes(path) && command.test(text));
  expect(shown.map(({ path, text }) => `${path}: ${command.exec(text)?.[0]}`)).toEqual([]);
});
