import { expect, test } from 'vitest';
import { AwakeTime } from '../../../../control-plane/coordinator/sleep/awake-time.ts';
import { sumOfTotals } from '../../../../control-plane/core/views/awake-totals.ts';
import { TestClock } from '../../../support/rigs/test-clock.ts';

function counted(before?: ConstructorParameters<typeof AwakeTime>[1]) {
  const clock = new TestClock();
  const ended: number[] = [];
  const awake = new AwakeTime(
    () => clock.nowMs(),
    before,
    () => ended.push(clock.nowMs()),
  );
  return { clock, awake, ended };
}

test('C233: an object is awake from the first thing that is under way to the last, and what overlaps counts once', () => {
  const { clock, awake, ended } = counted();
  const first = awake.begin();
  clock.pass(1_000);
  const second = awake.begin();
  clock.pass(1_000);
  first();
  first();
  clock.pass(1_000);
  expect(awake.totals).toMatchObject({ wakes: 1, awakeMs: 3_000, memoryMs: 3_000 });
  second();
  clock.pass(60_000);
  expect(awake.totals).toMatchObject({ wakes: 1, awakeMs: 3_000, memoryMs: 3_000 });
  expect(ended.length).toBe(1);
});

test('C233: timers that are set count as time awake, until they are over or cancelled', () => {
  const { clock, awake } = counted();
  const timers = awake.clockOf(clock);
  timers.after(2_000, () => {});
  const cancel = timers.after(30_000, () => {});
  clock.pass(2_000);
  expect(awake.active).toBe(1);
  clock.pass(500);
  cancel();
  clock.pass(60_000);
  expect(awake.totals).toMatchObject({ awakeMs: 2_500 });
});

test('C233: an object wakes if it could have slept before, and was in memory for up to 10 s longer than awake', async () => {
  const { clock, awake } = counted();
  await awake.during(() => clock.pass(10));
  clock.pass(4_000);
  await awake.during(() => clock.pass(10));
  expect(awake.totals).toMatchObject({ wakes: 1, awakeMs: 20, memoryMs: 4_020 });
  clock.pass(3_600_000);
  await awake.during(() => clock.pass(10));
  expect(awake.totals).toMatchObject({ wakes: 2, awakeMs: 30, memoryMs: 14_030 });
});

test('C233: the count goes on after the object has lost its memory', async () => {
  const { clock, awake } = counted({ sinceMs: 5, wakes: 3, awakeMs: 100, memoryMs: 20_000 });
  await awake.during(() => clock.pass(10));
  expect(awake.totals).toEqual({ sinceMs: 5, wakes: 4, awakeMs: 110, memoryMs: 30_010 });
});

test('C233: the totals of several gateways are added', () => {
  const one = { sinceMs: 5, wakes: 3, awakeMs: 100, memoryMs: 20_000 };
  const other = { sinceMs: 9, wakes: 1, awakeMs: 10, memoryMs: 200 };
  expect(sumOfTotals([one, other])).toEqual({ sinceMs: 5, wakes: 4, awakeMs: 110, memoryMs: 20_200 });
  expect(sumOfTotals([])).toBeNull();
});
