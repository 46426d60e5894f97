import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  bucketsOf,
  delayMs,
  FORGET_MS,
  networkOf,
  waitMs,
} from '../../../../control-plane/core/accounts/login-throttle.ts';
import { OperationError } from '../../../../control-plane/core/model/errors.ts';
import { ConcurrencyLimit } from '../../../../control-plane/operations/accounts/concurrency-limit.ts';
import { beginAttempt } from '../../../../control-plane/operations/accounts/login-throttle.ts';
import type { Db } from '../../../../control-plane/store/db/db.ts';
import { memoryDatabase } from '../../../support/hosts/memory-database.ts';
import { fc } from '../../../support/tools/random-cases.ts';

const MINUTE_MS = 60_000;

describe('delays', () => {
  const [own, name, address] = bucketsOf('alice', '192.0.2.1');

  test('H130: ten failures are free, then 30 s, doubled up to 15 minutes', () => {
    expect([1, 9, 10, 11, 12, 14, 15, 1_000].map((count) => delayMs(own, count) / 1_000)).toEqual([
      0, 0, 30, 60, 120, 480, 900, 900,
    ]);
  });

  test('H130: by name or address alone a hundred are free, and nobody waits longer than a minute', () => {
    for (const bucket of [name, address]) {
      if (!bucket) throw new Error('a bucket is missing');
      expect([99, 100, 101, 1_000].map((count) => delayMs(bucket, count) / 1_000)).toEqual([0, 30, 60, 60]);
    }
  });

  test('H130: however many failures, nobody waits for ever: at most until the longest delay after the last', () => {
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

  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:0:1::7', '2001:db8:0:1'],
    ['2001:0DB8:0000:0001:a:b:c:d', '2001:db8:0:1'],
    ['2001:db8::7', '2001:db8:0:0'],
    ['::1', '0:0:0:0'],
  ])('H132: %s counts as %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });

  test('H132: whatever a proxy says is taken', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.ipV6(), fc.stringMatching(/^[0-9a-f:.]{0,60}$/)), (text) => {
        expect(typeof networkOf(text)).toBe('string');
      }),
    );
  });
});

describe('counting', () => {
  let db: Db;
  let nowMs = 1_700_000_000_000;
  beforeEach(async () => {
    db = await memoryDatabase();
  });
  afterEach(() => db.close());

  const begin = (name: string, address?: string) => beginAttempt(db, () => nowMs, name, address);
  const fail = async (name: string, address: string | undefined, times: number) => {
    const attempts = await Promise.all(Array.from({ length: times }, () => begin(name, address)));
    await Promise.all(attempts.map((attempt) => attempt.failed()));
  };
  /** Seconds to wait; 0 where a login may be tried. */
  const waitS = (name: string, address?: string) =>
    begin(name, address).then(
      () => 0,
      (error) => {
        if (error instanceof OperationError && error.code === 'too-many') return error.retryAfterS;
        throw error;
      },
    );
  const rows = async () => (await db.query('SELECT bucket FROM login_failures')).length;

  test('H130: who has failed too often waits, twice as long after each further failure', async () => {
    await fail('alice', '192.0.2.1', 9);
    expect(await waitS('alice', '192.0.2.1')).toBe(0);
    await fail('alice', '192.0.2.1', 1);
    expect(await waitS('alice', '192.0.2.1')).toBe(30);
    nowMs += 29_500;
    expect(await waitS('alice', '192.0.2.1')).toBe(1);
    nowMs += 500;
    await fail('alice', '192.0.2.1', 1);
    expect(await waitS('alice', '192.0.2.1')).toBe(60);
  });

  test('H131: failures from elsewhere, and of other names, are not held against a user', async () => {
    await fail('alice', '192.0.2.1', 20);
    const others = [
      await waitS('alice', '192.0.2.2'),
      await waitS('bob', '192.0.2.1'),
      await waitS('alice', '2001:db8::1'),
    ];
    expect(others).toEqual([0, 0, 0]);
  });

  test('H130: a hundred failures of a name from everywhere, or from an address for all names, slow all of those down', async () => {
    for (let n = 0; n < 100; n++) await fail('alice', `192.0.2.${n}`, 1);
    expect(await waitS('alice', '198.51.100.1')).toBe(30);
    expect(await waitS('bob', '192.0.2.7')).toBe(0);
    for (let n = 0; n < 100; n++) await fail(`user${n}`, '2001:db8::1', 1);
    expect(await waitS('bob', '2001:db8::2')).toBe(30);
    expect(await waitS('bob', '2001:db8:0:1::1')).toBe(0);
  });

  test('H130: a success forgets the failures of that name from there, and those alone', async () => {
    await fail('alice', '192.0.2.1', 9);
    await fail('alice', '192.0.2.2', 9);
    await (await begin('alice', '192.0.2.1')).succeeded();
    await fail('alice', '192.0.2.1', 9);
    expect(await waitS('alice', '192.0.2.1')).toBe(0);
    await fail('alice', '192.0.2.2', 1);
    expect(await waitS('alice', '192.0.2.2')).toBe(30);
  });

  test('H130: a name counts without an address, too', async () => {
    await fail('alice', undefined, 10);
    expect(await waitS('alice')).toBe(30);
    expect(await waitS('bob')).toBe(0);
  });

  test('H134: failures are forgotten, and their rows removed, an hour after the last one', async () => {
    await fail('alice', '192.0.2.1', 20);
    nowMs += FORGET_MS + 1;
    await fail('bob', undefined, 1);
    expect(await rows()).toBe(2);
    await fail('alice', '192.0.2.1', 9);
    expect(await waitS('alice', '192.0.2.1')).toBe(0);
  });

  test('H134: no name is kept as it was typed', async () => {
    await fail('my-password', '192.0.2.1', 1);
    const text = JSON.stringify(await db.query('SELECT * FROM login_failures'));
    expect(text).not.toMatch(/my-password|192\.0\.2\.1/);
  });
});

describe('the gate', () => {
  let nowMs = 0;
  const gateOf = (most: number) => new ConcurrencyLimit(most, () => nowMs);
  /** Work that goes on until it is told to end. */
  const jobs = (gate: ConcurrencyLimit, count: number) => {
    const started: number[] = [];
    const ends: ((error?: Error) => void)[] = [];
    const results = Array.from({ length: count }, (_, n) =>
      gate.run(() => {
        started.push(n);
        return new Promise<number>((done, fail) => {
          ends[n] = (error) => (error ? fail(error) : done(n));
        });
      }),
    );
    return { started, ends, results };
  };
  const settled = () => new Promise((done) => setImmediate(done));

  test('H133: as many as may are inside; the others follow in the order they came, also after a failure', async () => {
    const { started, ends, results } = jobs(gateOf(2), 5);
    await settled();
    expect(started).toEqual([0, 1]);
    ends[1]?.(new Error('broken'));
    await expect(results[1]).rejects.toThrow('broken');
    await settled();
    expect(started).toEqual([0, 1, 2]);
    ends[0]?.();
    ends[2]?.();
    await settled();
    expect(started).toEqual([0, 1, 2, 3, 4]);
    ends[3]?.();
    ends[4]?.();
    expect(await Promise.all([results[0], results[2], results[3], results[4]])).toEqual([0, 2, 3, 4]);
  });

  test('H133: who has waited too long is refused, and its place is not lost', async () => {
    const gate = gateOf(1);
    const { started, ends, results } = jobs(gate, 2);
    await settled();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const late = gate.run(async () => 7);
    vi.advanceTimersByTime(15_000);
    vi.useRealTimers();
    await expect(late).rejects.toMatchObject({ code: 'unavailable' });
    ends[0]?.();
    await settled();
    expect(started).toEqual([0, 1]);
    ends[1]?.();
    expect(await Promise.all(results)).toEqual([0, 1]);
    expect(await gate.run(async () => 8)).toBe(8);
  });

  test('H133: a place whose work is lost is given to others after a minute', async () => {
    const gate = gateOf(1);
    const lost = jobs(gate, 1);
    await settled();
    nowMs += 60_000;
    expect(await gate.run(async () => 7)).toBe(7);
    lost.ends[0]?.();
    expect(await lost.results[0]).toBe(0);
    const { started, ends, results } = jobs(gate, 2);
    await settled();
    expect(started).toEqual([0]);
    ends[0]?.();
    await settled();
    ends[1]?.();
    expect(await Promise.all(results)).toEqual([0, 1]);
  });

  test('H133: a line that is too long is refused, and those in it are not', async () => {
    const gate = gateOf(1);
    const { ends, results } = jobs(gate, 1 + 512);
    await settled();
    await expect(gate.run(async () => 0)).rejects.toMatchObject({ code: 'unavailable' });
    for (let n = 0; n < results.length; n++) {
      await settled();
      ends[n]?.();
    }
    expect((await Promise.all(results)).at(-1)).toBe(512);
    expect(await gate.run(async () => 7)).toBe(7);
  });
});
