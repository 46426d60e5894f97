/** Where a description may refer to secrets and files, and where it may not. */
import { expect, test } from 'vitest';
import { secretsIn } from '../../../shared/variables.ts';
import { problemsOf, withService } from '../../support/fixtures/problems.ts';

const problemsIn = (fields: Record<string, unknown>): string =>
  JSON.stringify(problemsOf(withService(fields)));

test('H631: a reference to a secret with a name that none can have is refused in few words', () => {
  const problemsWith = (text: string) => problemsIn({ environment: [['V', text]] });
  for (const name of ['1A', '-A', '_A', 'A'.repeat(65), 'A'.repeat(100_000)]) {
    const problems = problemsWith(`{secret#${name}}`);
    expect(problems).toContain('but the name of a secret begins with a letter');
    expect(problems.length).toBeLessThan(2_000);
  }
  // Without a name, the braces are plain text.
  expect(problemsWith('{secret#}')).toBe('[]');
});

test('H631: references are found within other braces, and are plain text where the syntax has none', () => {
  const texts = [
    '{{secret#LITERAL}} {{secret#INNER} {secret#A}{secret#B_-1}}',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's own.
    '${secret#SHELL} {secret #S} {secret#Ä} {SECRET#U} {secret#N\n} {secret} {secret#',
  ];
  expect(secretsIn(texts)).toEqual(['INNER', 'A', 'B_-1']);
});

test.each([
  { command: 'echo {secret#A}' },
  { command: "sh -c 'echo {sec''ret#A}'" },
  { health: { command: 'test {secret#A}' } },
])('H578: no command has a secret: %o', (fields) => {
  expect(problemsIn(fields)).toContain('a command must not have secrets');
});

const volume = (name: string) => ({ name, path: '/srv/data', read_only: false });
const filesAt = (...paths: string[]) => paths.map((path) => ({ name: 'key', path }));

test.each<[problem: string, ...paths: (string | readonly string[])[]]>([
  ['/workspace', '/workspace', '/workspace/a/b'],
  ['/mnt/data', '/mnt/data', '/mnt/data/a/b'],
  ['above the volumes', '/mnt'],
  ['beneath', ['/etc/app', '/etc/app/key'], ['/a/b/c', '/a']],
  ['also the path', ['/a', '/a']],
  ['absolute path', '/', '/a/../etc/b', '/proc/self/environ', '/sys/x', '/dev/null', '/a//b', 'a'],
  ['absolute path', `/${'a'.repeat(256)}`],
  ['NUL', '/a\0b'],
])('H631: files are refused with the problem "%s": %j', (problem, ...cases) => {
  for (const paths of cases)
    expect(problemsIn({ files: filesAt(...[paths].flat()), volumes: [volume('data')] })).toContain(problem);
});

test('H631: files may be anywhere else, in thousands of folders', () => {
  const paths = ['/etc/passwd', '/mnt/database/key', '/mnt/data2', '/workspaces/a'];
  const deep = Array.from({ length: 50 }, (_, n) => `${'/a'.repeat(500)}${n}`);
  expect(
    problemsIn({
      files: filesAt(...paths, '/a/b', '/a/c', '/ä b', '/.x', ...deep),
      volumes: [volume('data')],
    }),
  ).toBe('[]');
});
