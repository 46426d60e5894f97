import { expect, test } from 'vitest';
import { CopyReport } from '../../../cli/streams/report.ts';
import { LiveLine } from '../../../cli/terminal/live-line.ts';
import type { Terminal } from '../../../cli/terminal/terminal.ts';

/** A terminal of this width, or none, of which only the words are used. */
function said(wordsColumns: number | undefined) {
  const words: string[] = [];
  const terminal = {
    wordsColumns,
    say: (line: string) => words.push(`${line}\n`),
    sayPart: (text: string) => words.push(text),
  } as unknown as Terminal;
  return { terminal, words };
}

test('L168: on a terminal one line shows bytes and rate, and goes before anything else is said', () => {
  const { terminal, words } = said(80);
  const report = new CopyReport(terminal, false);
  for (let part = 0; part < 1_000; part += 1) report.passed(1_048_576);
  expect(words).toEqual([expect.stringMatching(/K1\.0 MiB, .+\/s$/)]);
  report.leftOut('out', 'is a link that leads out');
  report.done();
  expect(words.slice(1)).toEqual([
    '\r\u001b[K',
    'Left out: out is a link that leads out.\n',
    expect.stringMatching(/^Copied 1000\.0 MiB, .+\/s\.\n$/),
  ]);
});
test('L168: elsewhere only the end is said, or nothing with --quiet, and further names are counted', () => {
  const plain = said(undefined);
  const report = new CopyReport(plain.terminal, false);
  report.passed(5);
  for (let name = 0; name < 25; name += 1) report.leftOut(`f${name}`, 'is a pipe');
  report.done();
  expect(plain.words.length).toBe(22);
  expect(plain.words.slice(-2)).toEqual(['Left out: 5 more.\n', expect.stringContaining('Copied 5 ')]);
  const quiet = said(80);
  new CopyReport(quiet.terminal, true).passed(5);
  expect(quiet.words).toEqual([]);
});
test('L198: without a terminal, seconds that pass are not a change', () => {
  const countdown = [9, 8, 7].map((seconds) => `It runs. Its time limit is over in ${seconds} s.`);
  const [plain, wide] = [said(undefined), said(80)];
  const line = new LiveLine(plain.terminal);
  for (const text of [...countdown, 'It has ended.']) line.show(text);
  expect(plain.words).toEqual([`${countdown[0]}\n`, 'It has ended.\n']);
  const changing = new LiveLine(wide.terminal);
  for (const text of countdown) changing.show(text);
  expect(wide.words).toHaveLength(3);
});
