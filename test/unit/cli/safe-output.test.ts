import { expect, test } from 'vitest';
import { SafeOutput } from '../../../cli/terminal/safe-output.ts';
import { fc } from '../../support/tools/random-cases.ts';

const passed = (...pieces: (string | Uint8Array)[]): string => {
  const safe = new SafeOutput();
  return pieces.map((piece) => safe.pass(1, Buffer.from(piece))).join('') + safe.end();
};

test.each([
  ['a clipboard', 'a\u001b]52;c;aGVsbG8=\u0007b', 'ab'],
  ['a title with a string terminator', 'a\u001b]0;title\u001b\\b', 'ab'],
  ['a link', '\u001b]8;;http://x/\u0007text\u001b]8;;\u0007', 'text'],
  ['modes', 'a\u001b[?1h\u001b[?1049h\u001b[>4;2m\u001b=b', 'ab'],
  ['movements', 'a\u001b[2J\u001b[H\u001b[3A\u001b[10;20fb', 'ab'],
  ['questions', 'a\u001b[c\u001b[6n\u001b[?6n\u001bZ\u0005b', 'ab'],
  ['device control', 'a\u001bP+q544e\u001b\\b\u001b_x\u001b\\c', 'abc'],
  ['a character set and a reset', 'a\u001b(0\u001bcb', 'ab'],
  [
    'the same as single characters',
    'a\u009d52;c;eA==\u009cb\u009b?1hc\u009b31md\u009b0m',
    'abc\u001b[31md\u001b[0m',
  ],
  ['single bytes', Buffer.from([0x61, 0x9b, 0x3f, 0x31, 0x68, 0x62]), 'a\ufffd?1hb'],
  ['other controls', 'a\u0000\u0007\u000b\u000c\u000e\u007fb', 'ab'],
  ['marks of direction', 'a\u202eb', 'a\ufffdb'],
  [
    'a sequence within another one',
    'a\u001b[3\u001b]0;x\u0007b\u001b]0;\u001b[31mc\u001b[m',
    'ab\u001b[31mc\u001b[m',
  ],
  ['what never ends, but for its line', 'a\u001b]0;title\nb\u001b[1;\nc\u001bPx\nd', 'a\nb\nc\nd'],
])('L223: of %s, the text alone reaches a terminal', (_, output, text) => {
  expect(passed(output)).toBe(text);
});

test('L223: colours, progress on one line and characters of any kind pass', () => {
  const output = 'a\u001b[1;38;2;1;2;3mé\u001b[4:3m€\u001b[0m\t50 %\r\u001b[K100 %\b𝄞\r\n';
  expect(passed(output)).toBe(output);
});

test('L223: the terminal has no colour once the output has ended', () => {
  expect(passed('\u001b[8mhidden\n')).toBe('\u001b[8mhidden\n\u001b[0m');
});

test('L223: whatever the pieces of the output are, nothing but colours and controls of the line passes', () => {
  const unit = fc.constantFrom(...'\u001b[]?1;mKh\u0007\\\u009bPé\n');
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 60 }), fc.nat(5), (text, size) => {
      const bytes = Buffer.from(text);
      const pieces: Uint8Array[] = [];
      for (let at = 0; at < bytes.length; at += size + 1) pieces.push(bytes.subarray(at, at + size + 1));
      const result = passed(...pieces);
      expect(result).toBe(passed(text));
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
      expect(result.replace(/\x1b\[(?:[\d;:]*m|[012]?K)/g, '')).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
    }),
  );
});
