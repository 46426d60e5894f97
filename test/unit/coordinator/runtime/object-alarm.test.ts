import { expect, test } from 'vitest';
import { forwardUpgrade } from '../../../../control-plane/coordinator/runtime/forward-upgrade.ts';
import { ObjectAlarm } from '../../../../control-plane/coordinator/runtime/object-alarm.ts';

/** An alarm at second 100, with a record of its settings, its log lines and the number of wakes. */
function alarmClock() {
  const seen = { set: [] as (number | null)[], logged: [] as string[], woken: 0 };
  const storage = {
    setAlarm: async (timeMs: number) => void seen.set.push(timeMs),
    deleteAlarm: async () => void seen.set.push(null),
  };
  const alarm = new ObjectAlarm(
    storage,
    (event) => seen.logged.push(event),
    () => 100_000,
  );
  const ring = (prepare: () => Promise<void>) =>
    alarm.ring(prepare, () => {
      seen.woken += 1;
    });
  return { alarm, ring, seen };
}

const away = () => Promise.reject(new Error('the database is away'));
const there = () => Promise.resolve();

test('C131: an alarm without a database is postponed, longer each time up to 30 s, and logged', async () => {
  const { ring, seen } = alarmClock();
  for (let n = 0; n < 7; n++) await ring(away);
  expect(seen.set).toEqual([1, 2, 4, 8, 16, 30, 30].map((delayS) => (100 + delayS) * 1_000));
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
  expect(seen.set).toEqual([101_000, 102_000, 130_000, 101_000]);
});

test('C131: a next alarm is set while the turn is under way', async () => {
  const { alarm, ring, seen } = alarmClock();
  await ring(there);
  expect([seen.set, seen.woken]).toEqual([[130_000], 1]);
  alarm.set(null);
  expect(seen.set).toEqual([130_000, null]);
});

test('C131: an alarm that a turn has set meanwhile stays', async () => {
  const { alarm, ring, seen } = alarmClock();
  await ring(async () => {
    alarm.set(100_200);
    await away();
  });
  expect(seen.set).toEqual([100_200]);
});

test('P71: a coordinator that fails at a connection is unavailable, without fault of the agent', async () => {
  const proof = { hostId: 1, proofId: 'proof', expiresMs: 0 };
  const request = new Request('http://berth.test/agent/v1/connect');
  await expect(
    forwardUpgrade({ fetch: () => Promise.reject(new Error('broken')) }, request, proof),
  ).rejects.toMatchObject({
    code: 'unavailable',
    message: 'The coordinator does not answer; try again.',
  });
});
