import { expect, test } from 'vitest';
import { FairLane } from '../../../../../agent/engine/health/fair-lane.ts';

test('P213: owners that wait have their turns one after the other, and no owner has more than its share at once', async () => {
  const lane = new FairLane({ all: 3, each: 2 });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (owner: string, name: string) =>
    lane.run(owner, () => {
      begun.push(name);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    });
  const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((name) => run(String(name[0]), name));
  const end = async (name: string) => {
    ends.get(name)?.();
    await new Promise(setImmediate);
  };
  await new Promise(setImmediate);
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  await end('b1');
  expect(begun.at(-1)).toBe('b2');
  await end('a1');
  expect(begun.at(-1)).toBe('a3');
  await end('a2');
  expect(begun.at(-1)).toBe('c1');
  for (const name of ['b2', 'a3', 'c1', 'a4']) await end(name);
  expect(begun).toHaveLength(7);
  await Promise.all(all);
});

test('P213: a task that fails leaves its place to another one', async () => {
  const lane = new FairLane({ all: 1, each: 1 });
  const failing = lane.run('a', () => Promise.reject(new Error('no')));
  const next = lane.run('a', async () => 'done');
  await expect(failing).rejects.toThrow('no');
  await expect(next).resolves.toBe('done');
});
