/** Reading of stored records: from the end of a log, and from a position on. */
import { type FileHandle, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { MAX_TAIL_BYTES, tailOf } from '../../../../agent/logs/record-tail.ts';
import { endOfRecords, firstRecordFrom } from '../../../../agent/logs/record-walk.ts';
import { record } from '../../../support/fixtures/records.ts';
import { testFolder } from '../../../support/tools/test-folder.ts';

let folder: string;
beforeEach(async () => {
  folder = await testFolder();
});

async function opened(flags: string): Promise<FileHandle> {
  const file = await open(join(folder, 'log'), flags);
  onTestFinished(() => file.close());
  return file;
}
const stored = async (...records: Buffer[]): Promise<FileHandle> => {
  await writeFile(join(folder, 'log'), Buffer.concat(records));
  return opened('r');
};
const sizeOf = (records: readonly Buffer[]) => records.reduce((sum, { length }) => sum + length, 0);
const never = new AbortController().signal;

test('P193: the tail begins so many lines before the end, across blocks, and with the first line at most', async () => {
  const records = Array.from({ length: 20_000 }, (_, n) => record(`line ${n} ${'x'.repeat(n % 300)}`));
  const file = await stored(...records);
  for (const lines of [1, 2, 1_999, 10_000, 19_999])
    expect(await tailOf(file, () => 0, lines, never)).toBe(sizeOf(records.slice(0, 20_000 - lines)));
  for (const lines of [20_000, 20_001]) expect(await tailOf(file, () => 0, lines, never)).toBe(0);
});

test('P193: parts of a line count once, and a last line without an end counts', async () => {
  const records = [record('first'), record('sec', true), record('ond'), record('open', true)];
  const file = await stored(...records);
  const at = (count: number) => sizeOf(records.slice(0, count));
  expect(await tailOf(file, () => 0, 1, never)).toBe(at(3));
  expect(await tailOf(file, () => 0, 2, never)).toBe(at(1));
  expect(await tailOf(file, () => 0, 3, never)).toBe(0);
});

test('P193: an empty log has no lines, and removed output is never searched', async () => {
  expect(await tailOf(await stored(), () => 0, 5, never)).toBe(0);
  const [gone, left] = [record('gone'), record('left')];
  const file = await stored(Buffer.alloc(gone.length), left);
  expect(await tailOf(file, () => gone.length, 5, never)).toBe(gone.length);
  expect(await tailOf(file, () => gone.length + left.length, 5, never)).toBe(gone.length + left.length);
});

test('P193: at most 32 MiB are searched, however long a line is, and the tail begins with a record', async () => {
  const piece = record('x'.repeat(16_384), true);
  const count = Math.ceil(MAX_TAIL_BYTES / piece.length) + 100;
  const file = await stored(...Array<Buffer>(count).fill(piece));
  const at = await tailOf(file, () => 0, 2, never);
  expect(at % piece.length).toBe(0);
  expect(count * piece.length - at).toBeLessThanOrEqual(MAX_TAIL_BYTES);
  expect(count * piece.length - at).toBeGreaterThan(MAX_TAIL_BYTES - piece.length);
});

test('P193: a record that is not whole yet is read again, and a damaged one is an error', async () => {
  const [whole, late] = [record('whole'), record('late')];
  const file = await stored(whole, late.subarray(0, 9));
  const writer = await opened('a');
  let attempts = 0;
  const first = () => {
    attempts += 1;
    return 0;
  };
  const found = tailOf(file, first, 1, never);
  await writer.write(late.subarray(9));
  expect(await found).toBe(whole.length);
  expect(attempts).toBeGreaterThan(0);
  const damaged = await stored(whole, Buffer.alloc(20, 0xff));
  await expect(tailOf(damaged, () => 0, 1, never)).rejects.toThrow('damaged near its end');
});

const long = (bytes: number, partial = false) => record('x'.repeat(bytes), partial);

test('P121: the walk finds the first record from a position on, across blocks, and counts the output before it', async () => {
  // The records are larger than a block of the file that is read at a time.
  const records = Array.from({ length: 60 }, () => long(40_000));
  const size = long(40_000).length;
  const file = await stored(...records);
  for (const target of [0, 1, size, 30 * size - 1, 30 * size, 60 * size]) {
    const passed = Math.ceil(target / size);
    const expected = { at: passed * size, outputBytes: passed * 40_001, hasOpenRecords: false };
    expect(await firstRecordFrom(file, 0, target)).toEqual(expected);
  }
  expect(await firstRecordFrom(file, 2 * size, 3 * size)).toMatchObject({
    at: 3 * size,
    outputBytes: 40_001,
  });
  expect(await endOfRecords(file, size)).toBe(60 * size);
});

test('P122: a line that goes on is noted, wherever it is, and has no newline of its own', async () => {
  const [open, whole] = [long(5, true), long(5)];
  for (const records of [
    [open, whole],
    [whole, open],
  ])
    expect(await firstRecordFrom(await stored(...records), 0, open.length + whole.length)).toMatchObject({
      outputBytes: 11,
      hasOpenRecords: true,
    });
});

test('P121: the end of the records is that of the last whole one, and a hole or a cut record is damage', async () => {
  const [one, two] = [long(10), long(20)];
  const cut = await stored(one, two.subarray(0, two.length - 1));
  expect(await endOfRecords(cut, 0)).toBe(one.length);
  await expect(firstRecordFrom(cut, 0, one.length + 1)).rejects.toThrow('it ends within a record');
  await expect(endOfRecords(await stored(one, Buffer.alloc(8)), 0)).rejects.toThrow('impossible length');
});
