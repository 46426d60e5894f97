import { link, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { OutputRecord } from '../../../../agent/engine/engine.ts';
import { copyOutput } from '../../../../agent/logs/output-copy.ts';
import { encodeRecord } from '../../../../agent/logs/record.ts';
import { testFolder } from '../../../support/tools/test-folder.ts';

const T0 = 1_795_228_301_123_456_789n;
/** Longer than the part in which a copy looks for what it has; two lines of each time are equal. */
const records: OutputRecord[] = Array.from({ length: 12 }, (_, n) => ({
  source: n % 3 === 0 ? 'stderr' : 'stdout',
  timeNs: T0 + BigInt(n >> 1) * 400_000_000n,
  line: Buffer.from('same\n'),
  partial: false,
}));
const whole = Buffer.concat(records.map(encodeRecord));
let folder: string;
beforeEach(async () => {
  folder = await testFolder();
});

const follow = (asked: bigint[] = []) =>
  async function* (sinceNs: bigint) {
    asked.push(sinceNs);
    yield* records.filter(({ timeNs }) => timeNs >= sinceNs);
  };

test('P10: a copy that a crash cut off at any byte is resumed without a gap or a repetition', async () => {
  const path = join(folder, '1.log');
  for (let cut = 0; cut <= whole.length; cut++) {
    await writeFile(path, whole.subarray(0, cut));
    await copyOutput(follow(), path, 0);
    expect((await readFile(path)).equals(whole), `cut off at ${cut}`).toBe(true);
  }
});

test('P10: a copy asks the engine for the last second again, and not for all', async () => {
  const path = join(folder, '1.log');
  await writeFile(path, whole);
  const asked: bigint[] = [];
  await copyOutput(follow(asked), path, 0);
  expect(asked).toEqual([T0 + 3n * 400_000_000n]);
});

test('P10: a stored log that is a link to the file of the engine is copied before anything is appended', async () => {
  const [ofEngine, path] = [join(folder, 'engine'), join(folder, '1.log')];
  const first = whole.subarray(0, encodeRecord(records[0] as OutputRecord).length);
  await writeFile(ofEngine, first);
  await link(ofEngine, path);
  await copyOutput(follow(), path, 0);
  expect((await readFile(ofEngine)).equals(first)).toBe(true);
  expect((await readFile(path)).equals(whole)).toBe(true);
});
