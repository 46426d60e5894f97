import { expect, test } from 'vitest';
import { splitCommand } from '../../../shared/command.ts';

test.each<[string, string[]]>([
  ['', []],
  ['  \t\n ', []],
  ['sleep 10', ['sleep', '10']],
  ['  a   b  ', ['a', 'b']],
  [`sh -c 'echo "$HOME" | wc'`, ['sh', '-c', 'echo "$HOME" | wc']],
  ['a "b c" d', ['a', 'b c', 'd']],
  [`a'b'"c"d`, ['abcd']],
  [`"" ''`, ['', '']],
  ['a\\ b', ['a b']],
  ['a\\\nb', ['ab']],
  ['"a\\\nb"', ['ab']],
  ['"\\$ \\` \\" \\\\ \\n"', ['$ ` " \\ \\n']],
  [`'\\n'`, ['\\n']],
  ['a\\nb', ['anb']],
  [`echo {user_name} \${HOME}`, ['echo', '{user_name}', `\${HOME}`]],
  ['a\u00a0b', ['a\u00a0b']],
  ['héllo 🚀', ['héllo', '🚀']],
])('C26: %j splits into %j', (command, words) => {
  expect(splitCommand(command)).toEqual({ words });
});

test.each([
  [`a 'b`, `has no closing '`],
  ['a "b', 'has no closing "'],
  ['a\\', 'ends with a backslash that escapes nothing'],
  ['"a\\', 'ends with a backslash that escapes nothing'],
])('C26: %j is refused: it %s', (command, problem) => {
  expect(splitCommand(command)).toEqual({ problem });
});

test.each([1, 2, 1000])('C26: more than the given number of words are refused: %i', (most) => {
  const command = `${"'a' ".repeat(most)} `;
  expect(splitCommand(command, most)).toEqual({ words: Array(most).fill('a') });
  const problem = `has more than ${most.toLocaleString('en')} words`;
  expect(splitCommand(`${command}b`, most)).toEqual({ problem });
  expect(splitCommand(`${command}b 'c`, most)).toEqual({ problem });
});
