import { expect, test } from 'vitest';
import { eventually } from '../../support/tools/eventually.ts';

test('eventually retries after an error, undefined and false, and returns the first other value', async () => {
  const probes = [() => Promise.reject(new Error('not yet')), () => undefined, () => false, () => 0];
  expect(await eventually(() => probes.shift()?.())).toBe(0);
});

test('eventually throws the last error of the probe at the deadline', async () => {
  await expect(eventually(() => Promise.reject(new Error('still not')), 50)).rejects.toThrow('still not');
});

test('eventually throws at the deadline if the condition stays false', async () => {
  await expect(eventually(() => false, 50)).rejects.toThrow('never came true');
});
