import { expect, test } from 'vitest';
import { LiveLine } from '../../../cli/terminal/live-line.ts';
import type { Terminal } from '../../../cli/terminal/terminal.ts';

/** What a terminal of this width, or none, is shown of these texts. */
function shown(wordsColumns: number | undefined, texts: readonly string[]): string[] {
  const words: string[] = [];
  const say = (text: string) => words.push(text);
  const line = new LiveLine({ wordsColumns, say, sayPart: say } as unknown as Terminal);
  for (const text of texts) line.show(text);
  return words;
}

const COUNTDOWN = [9, 8, 7].map((seconds) => `It runs. Its time limit is over in ${seconds} s.`);

test('L198: without a terminal, seconds that pass are not a change', () => {
  expect(shown(undefined, [...COUNTDOWN, 'It has ended.'])).toEqual([COUNTDOWN[0], 'It has ended.']);
  expect(shown(80, COUNTDOWN)).toHaveLength(3);
});
