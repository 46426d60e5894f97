import { beforeEach, expect, test } from 'vitest';
import {
  bucketsOf,
  delayMs,
  FORGET_MS,
  waitMs,
} from '../../../../control-plane/core/accounts/login-throttle.ts';
import { OperationError } from '../../../../control-plane/core/model/errors.ts';
import { beginAttempt } from '../../../../control-plane/operations/accounts/login-throttle.ts';
import type { Db } from '../../../../control-plane/store/db/db.ts';
import { testDatabase } from '../../../support/hosts/memory-database.ts';
import { fc } from '../../../support/tools/random-cases.ts';

const MINUTE_MS = 60_000;

const [own, name, address] = bucketsOf('alice', '192.0.2.1');

test('H130: ten failures are free, or a hundred by name or by address alone; then a login waits 30 s, doubled by each further failure up to 15 minutes or a minute', () => {
  expect([1, 9, 10, 11, 12, 14, 15, 1_000].map((count) => delayMs(own, count) / 1_000)).toEqual([
    0, 0, 30, 60, 120, 480, 900, 900,
  ]);
  for (const bucket of [name, address]) {
    if (!bucket) throw new Error('a bucket is missing');
    expect([99, 100, 101, 1_000].map((count) => delayMs(bucket, count) / 1_000)).toEqual([0, 30, 60, 60]);
  }
});

test('H130: after any number of failures, a login waits at most 15 minutes from the last one', () => {
  fc.assert(
    fc.property(fc.nat(1e6), fc.nat(FORGET_MS), (count, agoMs) => {
      const buckets = bucketsOf('alice', '192.0.2.1');
      const failures = new Map(buckets.map(({ key }) => [key, { count, lastMs: 1e12 - agoMs }]));
      const wait = waitMs(buckets, failures, 1e12);
      expect(wait).toBeGreaterThanOrEqual(0);
      expect(wait).toBeLessThanOrEqual(Math.max(0, 15 * MINUTE_MS - agoMs));
    }),
  );
  expect(FORGET_MS).toBeGreaterThan(15 * MINUTE_MS);
});

let db: Db;
let nowMs = 1_700_000_000_000;
beforeEach(async () => {
  db = await testDatabase();
});

const begin = (name: string, address?: string) => beginAttempt(db, () => nowMs, name, address);
const fail = async (name: string, address: string | undefined, times: number) => {
  const attempts = await Promise.all(Array.from({ length: times }, () => begin(name, address)));
  await Promise.all(attempts.map((attempt) => attempt.failed()));
};
/** Seconds to wait; 0 if a login is allowed. */
const waitS = (name: string, address?: string) =>
  begin(name, address).then(
    () => 0,
    (error) => {
      if (error instanceof OperationError && error.code === 'too-many') return error.retryAfterS;
      throw error;
    },
  );
const rows = async () => (await db.query('SELECT bucket FROM login_failures')).length;

test('H130: a login waits after too many failures, twice as long after each further one, and also where no address is known', async () => {
  await fail('alice', '192.0.2.1', 9);
  expect(await waitS('alice', '192.0.2.1')).toBe(0);
  await fail('alice', '192.0.2.1', 1);
  expect(await waitS('alice', '192.0.2.1')).toBe(30);
  nowMs += 29_500;
  expect(await waitS('alice', '192.0.2.1')).toBe(1);
  nowMs += 500;
  await fail('alice', '192.0.2.1', 1);
  expect(await waitS('alice', '192.0.2.1')).toBe(60);
  await fail('carl', undefined, 10);
  expect(await waitS('carl')).toBe(30);
  expect(await waitS('bob')).toBe(0);
});

test('H131: failures from elsewhere or with other names do not delay a user', async () => {
  await fail('alice', '192.0.2.1', 20);
  const others = [
    await waitS('alice', '192.0.2.2'),
    await waitS('bob', '192.0.2.1'),
    await waitS('alice', '2001:db8::1'),
  ];
  expect(others).toEqual([0, 0, 0]);
});

test('H130: a hundred failures of a name from all addresses, or from an address with all names, delay all of its logins', async () => {
  for (let n = 0; n < 100; n++) await fail('alice', `192.0.2.${n}`, 1);
  expect(await waitS('alice', '198.51.100.1')).toBe(30);
  expect(await waitS('bob', '192.0.2.7')).toBe(0);
  for (let n = 0; n < 100; n++) await fail(`user${n}`, '2001:db8::1', 1);
  expect(await waitS('bob', '2001:db8::2')).toBe(30);
  expect(await waitS('bob', '2001:db8:0:1::1')).toBe(0);
});

test('H130: a success resets the failures of its name from its address, and no others', async () => {
  await fail('alice', '192.0.2.1', 9);
  await fail('alice', '192.0.2.2', 9);
  await (await begin('alice', '192.0.2.1')).succeeded();
  await fail('alice', '192.0.2.1', 9);
  expect(await waitS('alice', '192.0.2.1')).toBe(0);
  await fail('alice', '192.0.2.2', 1);
  expect(await waitS('alice', '192.0.2.2')).toBe(30);
});

test('H134: failures are stored without names or addresses in clear text, and their rows are removed an hour after the last one', async () => {
  await fail('alice', '192.0.2.1', 20);
  nowMs += FORGET_MS + 1;
  await fail('bob', undefined, 1);
  expect(await rows()).toBe(2);
  await fail('alice', '192.0.2.1', 9);
  expect(await waitS('alice', '192.0.2.1')).toBe(0);
  await fail('my-password', '192.0.2.1', 1);
  const text = JSON.stringify(await db.query('SELECT * FROM login_failures'));
  expect(text).not.toMatch(/my-password|192\.0\.2\.1/);
});

test('C333: a clock that was set back does not make the delay longer', () => {
  const buckets = bucketsOf('alice', '192.0.2.1');
  const failures = new Map([[buckets[0].key, { count: 10, lastMs: 3_600_000 }]]);
  expect(waitMs(buckets, failures, 3_600_000)).toBe(30_000);
  expect(waitMs(buckets, failures, 0)).toBe(30_000);
});
