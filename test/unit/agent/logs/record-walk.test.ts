import { type FileHandle, open, writeFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { endOfRecords, firstRecordFrom } from '../../../../agent/logs/record-walk.ts';
import { record as recordOf } from '../../../support/fixtures/records.ts';
import { testFolder } from '../../../support/tools/test-folder.ts';

const record = (bytes: number, partial = false) => recordOf('x'.repeat(bytes), partial);

async function stored(...records: Buffer[]): Promise<FileHandle> {
  const folder = await testFolder();
  await writeFile(`${folder}/log`, Buffer.concat(records));
  const file = await open(`${folder}/log`, 'r');
  onTestFinished(() => file.close());
  return file;
}

test('P121: the walk finds the first record from a position on, across blocks, and counts the output before it', async () => {
  // The records are larger than a block of the file that is read at a time.
  const records = Array.from({ length: 60 }, () => record(40_000));
  const size = record(40_000).length;
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
  const [open, whole] = [record(5, true), record(5)];
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
  const [one, two] = [record(10), record(20)];
  const cut = await stored(one, two.subarray(0, two.length - 1));
  expect(await endOfRecords(cut, 0)).toBe(one.length);
  await expect(firstRecordFrom(cut, 0, one.length + 1)).rejects.toThrow('it ends within a record');
  await expect(endOfRecords(await stored(one, Buffer.alloc(8)), 0)).rejects.toThrow('impossible length');
});
