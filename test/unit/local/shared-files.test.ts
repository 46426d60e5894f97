import { expect, test } from 'vitest';
import { sharedFiles } from '../../../control-plane/local/assets/shared-files.ts';

test('H378: a file is read once for all answers that are being sent', async () => {
  let reads = 0;
  const file = sharedFiles(async () => new Uint8Array(++reads));
  const [first, second] = await Promise.all([file('a'), file('a')]);
  expect(second).toBe(first);
  expect(await file('a')).toBe(first);
  expect(await file('b')).not.toBe(first);
  expect(reads).toBe(2);
});

test('H378: a read that fails is tried again', async () => {
  let reads = 0;
  const file = sharedFiles(async () => {
    if (++reads === 1) throw new Error('busy');
    return new Uint8Array(1);
  });
  await expect(file('a')).rejects.toThrow('busy');
  expect(await file('a')).toHaveLength(1);
});
