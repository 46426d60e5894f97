import { expect, test } from 'vitest';
import { sharedFiles } from '../../../control-plane/local/assets/shared-files.ts';

test('H378: a file is read once for all answers that are being sent, and again after a read that fails', async () => {
  let reads = 0;
  const file = sharedFiles(async () => {
    if (++reads === 1) throw new Error('busy');
    return new Uint8Array(reads);
  });
  await expect(file('a')).rejects.toThrow('busy');
  const [first, second] = await Promise.all([file('a'), file('a')]);
  expect(second).toBe(first);
  expect(await file('a')).toBe(first);
  expect(await file('b')).not.toBe(first);
  expect(reads).toBe(3);
});
