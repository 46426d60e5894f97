import { expect, test } from 'vitest';
import { TerminalText } from '../../../../control-plane/web/browser/terminal/terminal-text.ts';

const bytesOf = (text: string) => new TextEncoder().encode(text);

test('W202: a character whose bytes are split between two frames is whole, and so is one between two pieces', () => {
  const text = new TerminalText();
  const [first, second] = [bytesOf('grüße 👩').subarray(0, 10), bytesOf('grüße 👩').subarray(10)];
  expect([...text.next(first), ...text.next(second)].join('')).toBe('grüße 👩');
  const pieces = text.next(bytesOf(`x${'👩'.repeat(2_000)}`));
  expect(pieces.every((piece) => piece.length <= 1_024 && piece.isWellFormed())).toBe(true);
  expect(pieces.join('')).toBe(`x${'👩'.repeat(2_000)}`);
});

test('W207: of marks that all join one cell no more are kept than any language has, however they arrive', () => {
  const mark = '\u0301';
  const kept = `e${mark.repeat(16)}`;
  const whole = new TerminalText();
  expect(whole.next(bytesOf(`e${mark.repeat(100_000)}f${mark}`)).join('')).toBe(`${kept}f${mark}`);
  const oneByOne = new TerminalText();
  const parts = ['e', ...Array.from({ length: 100 }, () => `${mark}\x7f`), 'f'];
  expect(parts.flatMap((part) => oneByOne.next(bytesOf(part))).join('')).toBe(`${kept}f`);
  for (const other of ['\u200d', '\u{e0100}', '\u1160', '\u{1d167}'])
    expect(new TerminalText().next(bytesOf(`e${other.repeat(50)}`)).join('')).toBe(`e${other.repeat(16)}`);
  const words = 'Tiếng Việt नमस्ते 👨‍👩‍👧‍👦 עִבְרִית';
  expect(new TerminalText().next(bytesOf(words))).toEqual([words]);
});
