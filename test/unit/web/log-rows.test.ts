import { describe, expect, test } from 'vitest';
import { LogRows } from '../../../control-plane/web/browser/logs/log-rows.ts';
import {
  LogSearch,
  patternOf,
  rangesOf,
  textOf,
} from '../../../control-plane/web/browser/logs/log-search.ts';
import { BLOCK_BYTES, LogStore } from '../../../control-plane/web/browser/logs/log-store.ts';
import { colouredText, partsOf, plainText } from '../../../control-plane/web/browser/logs/log-text.ts';

const bytes = (value: string): Uint8Array => new TextEncoder().encode(value);
const text = (value: Uint8Array | undefined): string => new TextDecoder().decode(value);
const stamped = (second: number, line: string): string =>
  `2026-11-21 10:00:${String(second).padStart(2, '0')} ${line}\n`;
const textsOf = (rows: LogRows): string[] =>
  Array.from({ length: rows.end - rows.first }, (_, at) => textOf(rows, rows.first + at));

describe('lines', () => {
  test('W32: lines are independent of the pieces in which they arrive', () => {
    const lineOf = (at: number) => (at % 7 === 0 ? '' : `line ${at} `.repeat(at % 5));
    const lines = Array.from({ length: 15_000 }, (_, at) => lineOf(at));
    const all = bytes(lines.join('\n'));
    for (const size of [1, 3, 100_000]) {
      const store = new LogStore();
      for (let at = 0; at < all.length; at += size) store.append(all.subarray(at, at + size));
      expect([size, store.end]).toEqual([size, lines.length]);
      expect(lines.findIndex((line, at) => text(store.line(at)) !== line)).toBe(-1);
    }
  });

  test('W32: a line longer than a block continues in the next block', () => {
    const store = new LogStore();
    const long = 'x'.repeat(2.5 * BLOCK_BYTES);
    store.append(bytes(`first\n${long.slice(0, 1000)}`));
    store.append(bytes(long.slice(1000)));
    store.append(bytes('\nlast\n'));
    const found = Array.from({ length: store.end }, (_, at) => text(store.line(at)));
    expect(found[0]).toBe('first');
    expect(found.at(-1)).toBe('last');
    expect(found.slice(1, -1).join('')).toBe(long);
    expect(found.slice(1, -1).map((_, at) => store.isContinued(at + 1))).toEqual([false, true, true]);
  });

  test('W32: beyond the limit the oldest lines are dropped and counted', () => {
    const rows = new LogRows(2, 4 * BLOCK_BYTES);
    for (let at = 0; at < 200_000; at++) {
      rows.stores[at % 2]?.append(bytes(stamped(0, `line ${at}`)));
      if (at % 1000 === 999) {
        rows.release(() => true);
        rows.trim();
      }
    }
    expect(rows.end).toBe(200_000);
    expect(rows.first).toBeGreaterThan(50_000);
    expect(rows.bytes).toBeLessThan(5 * BLOCK_BYTES);
    const texts = textsOf(rows);
    expect(texts.at(-1)).toBe('line 199999');
    expect(new Set(texts).size).toBe(rows.end - rows.first);
    expect(texts.every((line) => /^line \d+$/.test(line))).toBe(true);
  });
});

describe('lines of several services', () => {
  test('W35: they are in the order of their times', () => {
    const rows = new LogRows(2, BLOCK_BYTES);
    rows.stores[0]?.append(bytes(stamped(1, 'a1') + stamped(3, 'a3') + stamped(5, 'a5')));
    rows.release(() => false);
    expect(textsOf(rows)).toEqual([]);
    rows.stores[1]?.append(bytes(stamped(2, 'b2') + stamped(4, 'b4')));
    rows.release(() => false);
    expect(textsOf(rows)).toEqual(['a1', 'b2', 'a3', 'b4']);
    rows.release(() => true);
    expect(textsOf(rows)).toEqual(['a1', 'b2', 'a3', 'b4', 'a5']);
  });

  test('W224: those whose first output comes late move before the rows that are shown already, and no row is lost', () => {
    const rows = new LogRows(3, 64 * BLOCK_BYTES);
    rows.stores[0]?.append(bytes(stamped(1, 'a1') + stamped(3, 'a3')));
    rows.stores[2]?.append(bytes(stamped(2, 'c2')));
    // The second service is silent, so the others do not wait for it.
    rows.release((source) => source === 1);
    expect(textsOf(rows)).toEqual(['a1', 'c2']);
    rows.release(() => true);
    expect(textsOf(rows)).toEqual(['a1', 'c2', 'a3']);
    expect(rows.isLate(1)).toBe(false);
    rows.stores[1]?.append(bytes(stamped(0, 'b0') + stamped(4, 'b4')));
    expect(rows.isLate(1)).toBe(true);
    rows.reorder();
    expect(textsOf(rows)).toEqual(['b0', 'a1', 'c2', 'a3', 'b4']);
    rows.stores[2]?.append(bytes(stamped(5, 'c5')));
    expect(rows.isLate(2)).toBe(false);
    rows.release(() => true);
    expect(textsOf(rows)).toEqual(['b0', 'a1', 'c2', 'a3', 'b4', 'c5']);
  });

  test('W224: rows that were dropped stay so, and keep their numbers', () => {
    const rows = new LogRows(2, 2 * BLOCK_BYTES);
    const many = (count: number) =>
      Array.from({ length: count }, (_, n) => stamped(1, `${n} ${'x'.repeat(200)}`)).join('');
    rows.stores[0]?.append(bytes(many(60_000)));
    rows.release(() => true);
    rows.trim();
    const [first, end] = [rows.first, rows.end];
    expect(first).toBeGreaterThan(0);
    rows.stores[1]?.append(bytes(stamped(0, 'late')));
    expect(rows.isLate(1)).toBe(true);
    rows.reorder();
    expect([rows.first, rows.end]).toEqual([first, end + 1]);
    expect(textsOf(rows)[0]).toBe('late');
    expect(textsOf(rows)[1]?.split(' ')[0]).toBe(String(first));
  });
});

describe('a line', () => {
  test.each([
    ['plain <b>text</b>', 'plain <b>text</b>'],
    ['\x1b[1;31mred\x1b[0m and \x1b[38;5;200mpink', 'red and pink'],
    ['\x1b]0;a title\x07after', 'after'],
    ['\x1b]8;;javascript:alert(1)\x1b\\a link\x1b]8;;\x1b\\', 'a link'],
    ['\x1bPa string\x1b\\after', 'after'],
    ['up\x1b[2A\x1b[Kclear\x1b[?25l\x1b(B\x1b7', 'upclear'],
    ['\x1b[>4;1mno colour', 'no colour'],
    ['bell\x07 nul\0 delete\x7f c1\x9b', 'bell\u2407 nul\u2400 delete\u2421 c1\ufffd'],
    ['lone \x1b', 'lone \u241b'],
    ['turned \u202e round', 'turned \ufffd round'],
    ['a\ttab', 'a\ttab'],
  ])('W34: %j is shown as %j', (raw, shown) => {
    expect(plainText(raw)).toBe(shown);
  });

  test('W34: colour codes are kept, in one notation', () => {
    expect(colouredText('\x1b[38:5:200mpink\x1b[K\x1b[m')).toBe('\x1b[38;5;200mpink\x1b[m');
  });

  test.each([
    ['10%\r50%\r100%', '100%'],
    ['windows\r', 'windows'],
    ['half\r\r', 'half'],
    ['', ''],
  ])('W34: only the last version of %j is shown', (line, shown) => {
    const { when, text: body } = partsOf(bytes(`2026-11-21 10:00:00 ${line}`), false);
    expect([text(when), text(body)]).toEqual(['2026-11-21 10:00:00', shown]);
  });
});

describe('a search', () => {
  const rows = new LogRows(1, 64 * BLOCK_BYTES);
  rows.stores[0]?.append(
    bytes(stamped(0, 'Alpha') + stamped(0, 'beta (x)') + stamped(0, '\x1b[31mal\x1b[0mpha')),
  );
  rows.release(() => true);

  test.each([
    ['alpha', false, [0, 2]],
    ['(X)', false, [1]],
    ['^b.*\\)$', true, [1]],
    ['10:00', false, []],
  ])('W33: it finds the lines whose visible text matches %j', (query, isExpression, expected) => {
    const search = new LogSearch(rows);
    search.begin(patternOf(query, isExpression));
    while (!search.isDone) search.step();
    const found: number[] = [];
    for (let row = search.beside(-1, true); row !== undefined && !found.includes(row); ) {
      found.push(row);
      row = search.beside(row, true);
    }
    expect(found).toEqual(expected);
    expect(search.count).toBe(expected.length);
    if (expected.length > 0) expect(search.beside(expected[0] ?? 0, false)).toBe(expected.at(-1));
  });

  test('W33, W223: an expression that runs elsewhere finds the same, also in a line that grows meanwhile', async () => {
    const growing = new LogRows(1, 64 * BLOCK_BYTES);
    growing.stores[0]?.append(bytes(stamped(0, 'alpha') + stamped(0, 'alp').trimEnd()));
    growing.release(() => true);
    const search = new LogSearch(growing);
    const pattern = patternOf('al.+a', true);
    const asked: string[][] = [];
    const answers: ((found: boolean[]) => void)[] = [];
    search.begin(pattern, (texts) => {
      asked.push([...texts]);
      return new Promise((resolve) => answers.push(resolve));
    });
    const answer = async (at: number) => {
      answers[at]?.((asked[at] ?? []).map((text) => /al.+a/.test(text)));
      await Promise.resolve().then(() => {});
    };
    search.step();
    search.ask(() => {});
    search.ask(() => {});
    expect(asked).toEqual([['alpha', 'alp']]);
    growing.stores[0]?.append(bytes('ha\n'));
    search.again(1);
    await answer(0);
    expect([search.isDone, search.count]).toEqual([false, 0]);
    search.ask(() => {});
    await answer(1);
    expect([search.isDone, search.isAsking, search.count]).toEqual([true, false, 2]);
    // The answer to an expression that was replaced does not count.
    search.begin(pattern, () => new Promise((resolve) => answers.push(resolve)));
    search.ask(() => {});
    search.begin(undefined);
    answers.at(-1)?.([true, true]);
    await Promise.resolve();
    expect(search.count).toBe(0);
  });

  test('W33: it marks its matches, and never an empty one', () => {
    expect(rangesOf('an Alpha, alpha', patternOf('alpha', false))).toEqual([
      [3, 8],
      [10, 15],
    ]);
    expect(rangesOf('text', patternOf('x*y*', true))).toEqual([[2, 3]]);
    const used = patternOf('a', false);
    used?.test('a');
    expect(rangesOf('a', used)).toEqual([[0, 1]]);
  });
});
