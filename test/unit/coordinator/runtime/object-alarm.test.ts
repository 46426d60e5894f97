import { expect, test } from 'vitest';
import { forwardUpgrade } from '../../../../control-plane/coordinator/runtime/forward-upgrade.ts';
import { ObjectAlarm } from '../../../../control-plane/coordinator/runtime/object-alarm.ts';

/** An alarm at second 100, with a record of its settings, its log lines and the number of wakes. */
function alarmClock() {
  const seen = { set: [] as (number | null)[], logged: [] as string[], woken: 0, nowMs: 100_000 };
  const storage = {
    setAlarm: async (timeMs: number) => void seen.set.push(timeMs),
    deleteAlarm: async () => void seen.set.push(null),
  };
  const alarm = new ObjectAlarm(
    storage,
    (event) => seen.logged.push(event),
    () => seen.nowMs,
  );
  const ring = (prepare: () => Promise<void>) => {
    alarm.rang();
    alarm.guard();
    return alarm.answer(prepare, () => {
      seen.woken += 1;
    });
  };
  return { alarm, ring, seen };
}

const away = () => Promise.reject(new Error('the database is away'));
const there = () => Promise.resolve();

test('C131: an alarm without a database is postponed, longer each time up to 30 s, and logged', async () => {
  const { ring, seen } = alarmClock();
  for (let n = 0; n < 7; n++) await ring(away);
  const guarded = [1, 2, 4, 8, 16].flatMap((delayS) => [130_000, 100_000 + delayS * 1_000]);
  expect(seen.set).toEqual([...guarded, 130_000, 130_000]);
  expect(seen.logged).toEqual(Array(7).fill('alarm.postponed'));
  expect(seen.woken).toBe(0);
});

test('C131: the alarm wakes the coordinator once the database is back, and the next delay is short again', async () => {
  const { ring, seen } = alarmClock();
  await ring(away);
  await ring(away);
  await ring(there);
  expect(seen.woken).toBe(1);
  await ring(away);
  expect(seen.set.at(-1)).toBe(101_000);
});

test('C131: an alarm that a turn has set meanwhile stays', async () => {
  const { alarm, ring, seen } = alarmClock();
  await ring(async () => {
    alarm.set(100_200);
    await away();
  });
  expect(seen.set).toEqual([130_000, 100_200]);
});

test('C131: while the object is awake its alarm rings within 30 s, and once it may sleep when something is due', () => {
  const { alarm, seen } = alarmClock();
  alarm.guard();
  expect(seen.set).toEqual([130_000]);
  alarm.set(3_700_000);
  seen.nowMs = 110_000;
  alarm.guard();
  expect(seen.set).toEqual([130_000]);
  for (let n = 0; n < 2; n++) alarm.rest();
  expect(seen.set).toEqual([130_000, 3_700_000]);
  alarm.guard();
  alarm.set(null);
  alarm.rest();
  expect(seen.set).toEqual([130_000, 3_700_000, 140_000, null]);
  alarm.guard();
  expect(seen.set.at(-1)).toBe(140_000);
});

test('C131: the alarm of an object that does not know what is due, or has not done it, stays', () => {
  const { alarm, seen } = alarmClock();
  alarm.guard();
  alarm.rest();
  expect([seen.set, alarm.isDueKnown]).toEqual([[130_000], false]);
  alarm.set(100_000);
  alarm.guard();
  alarm.rest();
  expect([seen.set, alarm.isDueKnown]).toEqual([[130_000, 100_000], true]);
  seen.nowMs = 101_000;
  alarm.rang();
  alarm.guard();
  alarm.rest();
  expect(seen.set).toEqual([130_000, 100_000, 131_000]);
});

test('H402: an alarm that rings before the new time is not set again, and one that rings after it is', () => {
  const { alarm, seen } = alarmClock();
  for (const timeMs of [190_000, 191_000, 200_000, 190_000, 189_000, 189_001]) alarm.set(timeMs);
  expect(seen.set).toEqual([190_000, 189_000]);
});

test('H402: an alarm that rings too early wakes nobody and needs no database', async () => {
  const { alarm, ring, seen } = alarmClock();
  alarm.set(110_000);
  alarm.set(150_000);
  seen.nowMs = 110_000;
  await ring(away);
  alarm.rest();
  expect(seen).toMatchObject({ set: [110_000, 140_000, 150_000], woken: 0, logged: [] });
  seen.nowMs = 150_000;
  await ring(there);
  expect(seen.woken).toBe(1);
});

test('H402: when nothing is due any longer the alarm wakes nobody', async () => {
  const { alarm, ring, seen } = alarmClock();
  alarm.set(110_000);
  alarm.set(null);
  seen.nowMs = 110_000;
  await ring(away);
  alarm.rest();
  expect(seen).toMatchObject({ set: [110_000, 140_000, null], woken: 0, logged: [] });
});

test('H402: a new object, which does not have the time that is due, wakes the coordinator', async () => {
  const { ring, seen } = alarmClock();
  await ring(there);
  expect(seen.woken).toBe(1);
});

test('P71: a coordinator that fails at a connection is unavailable, without fault of the agent', async () => {
  const proof = { hostId: 1, proofId: 'proof', expiresMs: 0 };
  const request = new Request('http://berth.test/agent/v1/connect');
  const forwarded = forwardUpgrade({ fetch: () => Promise.reject(new Error('broken')) }, request, proof);
  const error = { code: 'unavailable', message: 'The coordinator does not answer; try again.' };
  await expect(forwarded).rejects.toMatchObject(error);
});
