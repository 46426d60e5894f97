import { expect, test } from 'vitest';
import { fairLine } from '../../../control-plane/guard/fair-line.ts';
import { type FairLimits, FairQueue } from '../../../shared/fair-queue.ts';

const WIDE = {
  total: 1,
  perOwner: 1,
  waiting: 100,
  waitingPerOwner: 100,
  waitMs: 60_000,
  lostMs: 120_000,
};

/** A line whose work ends when the test says so. */
function lineWith(limits: Partial<FairLimits>) {
  let nowMs = 0;
  const words = { whose: 'Your address has', what: 'large bodies' } as const;
  const line = fairLine(words, { ...WIDE, ...limits }, () => nowMs);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const join = (address: string, name: string, amount = 1) =>
    line.run(
      () => {
        begun.push(name);
        return new Promise<void>((resolve) => ends.set(name, resolve));
      },
      address,
      amount,
    );
  const end = async (name: string) => {
    ends.get(name)?.();
    await new Promise(setImmediate);
  };
  return { line, begun, join, end, pass: (ms: number) => (nowMs += ms) };
}

test('H308, P213: addresses take turns, whatever number of requests each has waiting', async () => {
  const { begun, join, end } = lineWith({});
  const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((name) => join(name.charAt(0), name));
  await end('');
  for (const name of ['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']) await end(name);
  await Promise.all(all);
  expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
});

test('H309, P213: an address that has used its share waits, and others do not wait for it', async () => {
  const { begun, join, end } = lineWith({ total: 10, perOwner: 4 });
  const all = [join('a', 'a1', 3), join('a', 'a2', 3), join('b', 'b1', 3), join('c', 'c1', 3)];
  await end('');
  expect(begun).toEqual(['a1', 'b1', 'c1']);
  await end('b1');
  expect(begun).toEqual(['a1', 'b1', 'c1']);
  await end('a1');
  expect(begun).toEqual(['a1', 'b1', 'c1', 'a2']);
  for (const name of ['c1', 'a2']) await end(name);
  await Promise.all(all);
});

test('H309: beyond the total, the first in line is next, even if a later one would need less', async () => {
  const { begun, join, end } = lineWith({ total: 4, perOwner: 4 });
  const all = [join('a', 'a1', 2), join('b', 'b1', 4), join('c', 'c1', 1)];
  await end('');
  expect(begun).toEqual(['a1']);
  for (const name of ['a1', 'b1', 'c1']) await end(name);
  await Promise.all(all);
  expect(begun).toEqual(['a1', 'b1', 'c1']);
});

test('H309: too many of one address are refused as too many, and too many in all as unavailable', async () => {
  const { line, join, end } = lineWith({ waiting: 3, waitingPerOwner: 2 });
  const all = [join('a', 'a1'), join('a', 'a2'), join('a', 'a3')];
  await expect(join('a', 'a4')).rejects.toMatchObject({ code: 'too-many', retryAfterS: 1 });
  all.push(join('b', 'b1'));
  await expect(join('c', 'c1')).rejects.toMatchObject({ code: 'unavailable' });
  expect(line.waiting).toBe(3);
  for (const name of ['a1', 'a2', 'b1', 'a3']) await end(name);
  await Promise.all(all);
  expect(line.waiting).toBe(0);
});

test('H380: work that has begun waits for its next turn, however many others do', async () => {
  const { line, begun, join, end } = lineWith({ waiting: 1, waitingPerOwner: 1 });
  const all = [join('a', 'a1'), join('a', 'a2')];
  await expect(join('a', 'a3')).rejects.toMatchObject({ code: 'too-many' });
  all.push(line.continue(async () => void begun.push('more of a0'), 'a'));
  for (const name of ['a1', 'a2']) await end(name);
  await Promise.all(all);
  expect(begun).toEqual(['a1', 'a2', 'more of a0']);
});

test('H309: who waits too long is refused, and leaves the line', async () => {
  const { line, begun, join, end } = lineWith({ waitMs: 1 });
  const first = join('a', 'a1');
  await expect(join('b', 'b1')).rejects.toMatchObject({ code: 'unavailable' });
  expect(line.waiting).toBe(0);
  await end('a1');
  await first;
  expect(begun).toEqual(['a1']);
});

test('H309: work that never ends is written off, so that others are served', async () => {
  const { begun, join, end, pass } = lineWith({});
  void join('a', 'a1');
  pass(120_000);
  const next = join('b', 'b1');
  await end('b1');
  await next;
  expect(begun).toEqual(['a1', 'b1']);
});

test('P213: work that fails leaves its place to other work', async () => {
  const queue = new FairQueue({ total: 1 });
  const failing = queue.run(() => Promise.reject(new Error('no')));
  const next = queue.run(async () => 'done');
  await expect(failing).rejects.toThrow('no');
  await expect(next).resolves.toBe('done');
});
