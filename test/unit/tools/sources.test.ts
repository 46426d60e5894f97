/** Source files: their names, lengths, first sentences and comments. */
import { posix } from 'node:path';
import { expect, test } from 'vitest';
import { commentsOf, projectFiles, sourcesIn } from '../../support/tools/sources.ts';

const program = sourcesIn('shared', 'control-plane', 'agent');

test('the reader of sources finds all imports: the files exist and import each other', () => {
  expect(program.length).toBeGreaterThan(80);
  const files = new Set(program.map(({ path }) => path));
  const lost = program.flatMap(({ path, imports }) =>
    imports.flatMap(({ file, specifier }) =>
      file === undefined || files.has(file) || file.endsWith('.json') ? [] : [`${path} imports ${specifier}`],
    ),
  );
  expect(lost).toEqual([]);
  for (const { path, code, imports } of program) {
    const statements = [...code.matchAll(/^(import|} from|export .* from)\b.*'|\bimport\('/gm)];
    expect([path, imports.length]).toEqual([path, statements.length]);
  }
});

test('names of files are kebab-case', () => {
  const odd = [...program, ...sourcesIn('examples', 'test')].filter(
    ({ path }) => !/^([a-z0-9-]+\/)*[a-z0-9-]+(\.test|\.d)?\.ts$/.test(path),
  );
  expect(odd.map(({ path }) => path)).toEqual([]);
});
test('no file names a path of one machine, or a path outside the repository', () => {
  const machine = new RegExp(`(^|[\\s"'\`(=])/(${['home', 'root', 'Users', 'work'].join('|')})/`, 'm');
  const outside = /(?:\.\.\/)+shared\b/g;
  const broken = projectFiles().flatMap(({ path, text }) => [
    ...(machine.test(text) ? [`${path} has an absolute path of a machine`] : []),
    ...[...text.matchAll(outside)]
      .filter(([found]) => !posix.join(posix.dirname(path), found).startsWith('shared'))
      .map(([found]) => `${path} names ${found}, which is outside the repository`),
  ]);
  expect(broken).toEqual([]);
});
test('generators of the control plane have names: V8 keeps what each anonymous one refers to for long', () => {
  const anonymous = program.filter(
    ({ path, code }) => path.startsWith('control-plane/') && /\bfunction\s*\*\s*\(/.test(code),
  );
  expect(anonymous.map(({ path }) => path)).toEqual([]);
});
test('each file of the program begins with a doc comment', () => {
  const silent = program.filter(({ text }) => !text.startsWith('/**'));
  expect(silent.map(({ path }) => path)).toEqual([]);
});

const MAX_COLUMNS = 110;
const commented = projectFiles()
  .filter(({ path }) => /\.(ts|css|sh|toml)$|(^|\/)Dockerfile$/.test(path))
  .map((file) => ({ ...file, comments: commentsOf(file) }));
const sentencesLike = (pattern: RegExp): string[] =>
  commented.flatMap(({ path, comments }) =>
    comments
      .filter(({ words }) => pattern.test(words))
      .map(({ words, first }) => `${path}:${first + 1}: ${words}`),
  );

test(`comments wrap at ${MAX_COLUMNS} columns`, () => {
  const wide = commented.flatMap(({ path, text, comments }) => {
    const lines = text.split('\n');
    // A line of one long word, such as an address, can't be wrapped.
    return comments.flatMap(({ first, last }) =>
      lines
        .slice(first, last + 1)
        .flatMap((line, at) =>
          line.length > MAX_COLUMNS && /^\s*(\/?\*|\/\/|#).*\s\S+\s\S/.test(line)
            ? [`${path}:${first + at + 1} has ${line.length} columns`]
            : [],
        ),
    );
  });
  expect(wide).toEqual([]);
});
test('the first comment of a file names the thing: none begins with "Owns what" or the like', () => {
  const indirect = commented.filter(({ comments: [first] }) =>
    /^Owns (what|which|who|whom|whose|how|when|where|whether|that)\b/.test(first?.words ?? ''),
  );
  expect(indirect.map(({ path }) => path)).toEqual([]);
});
test('comments have the subject first: no sentence begins with "Of" or "Whoever"', () => {
  expect(sentencesLike(/(^|[.!?] )(Of (?!course\b)[a-z]|Whoever )/)).toEqual([]);
});
test('comments negate the verb: "is not an X", never "is no X"', () => {
  expect(
    sentencesLike(/(?<!\b[Tt]here )\b(is|are|was|were) no (?!longer\b|more\b|less\b|other\b|\w+er\b)[a-z]/),
  ).toEqual([]);
});
