/** Submissions under idempotency keys (control-plane/coordinator/changes/idempotency-keys.ts). */
import { beforeEach, describe, expect, test } from 'vitest';
import type { RequestKey } from '../../../../control-plane/core/model/idempotency.ts';
import { defaultSchedulerConfig } from '../../../../control-plane/core/model/scheduler-config.ts';
import { application, service } from '../../../support/fixtures/descriptions.ts';
import { CoordinatorRig, codeOf } from '../../../support/rigs/coordinator-rig.ts';

const DAY_MS = 86_400_000;
const MAX_KEYS = 3;

let rig: CoordinatorRig;
beforeEach(async () => {
  rig = await CoordinatorRig.open({
    bounds: { ...defaultSchedulerConfig.bounds, idempotencyKeysPerUser: MAX_KEYS },
  });
});

const request = (key: string, digest = 'of the request'): RequestKey => ({ key, digest });
const stored = async () =>
  (await rig.memory.query('SELECT id FROM executions ORDER BY id')).map(({ id }) => id);

describe('C260: of repeats with one key', () => {
  test('C260: those in one turn make one execution, and all get its id', async () => {
    const made = await Promise.all(Array.from({ length: 20 }, () => rig.submitOnce(request('a'))));
    expect(await stored()).toEqual([made[0]?.id]);
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    expect(made.filter(({ isRepeat }) => !isRepeat)).toHaveLength(1);
    const commits = rig.db.batches.filter((batch) => batch.some(({ sql }) => sql.includes('executions')));
    expect(commits).toHaveLength(1);
  });

  test('C260: a later one gets the id of the first, from another coordinator too', async () => {
    const { id } = await rig.submitOnce(request('a'));
    expect(await rig.submitOnce(request('a'))).toEqual({ id, isRepeat: true });
    rig.restart();
    expect(await rig.submitOnce(request('a'))).toEqual({ id, isRepeat: true });
    expect(await stored()).toEqual([id]);
  });

  test.each([
    ['whose answer was lost', 'committed', true],
    ['that failed', 'refused', false],
  ] as const)('C260: one after a commit %s gets what that has made', async (_, failing, isRepeat) => {
    expect(await rig.codeWhile(failing, () => rig.submitOnce(request('a')))).toBe('unavailable');
    expect(await rig.submitOnce(request('a'))).toEqual({ id: expect.any(Number), isRepeat });
    expect(await stored()).toHaveLength(1);
  });

  test('C260: one that is decided while another coordinator takes over makes nothing twice', async () => {
    const commit = rig.db.hold();
    const late = codeOf(rig.submitOnce(request('a')));
    await commit.begun;
    rig.db.before = () => {};
    rig.restart();
    const { id } = await rig.submitOnce(request('a'));
    commit.release();
    expect(await late).toBe('unavailable');
    expect(await stored()).toEqual([id]);
  });
});

test('H440: a key belongs to its user', async () => {
  await rig.addUser(2);
  const { id } = await rig.submitOnce(request('a'));
  expect(await rig.submitOnce(request('a', 'of another'), undefined, 'run', 2)).toEqual({
    id: id + 1,
    isRepeat: false,
  });
});

test('H440: another request with the key is refused and makes nothing, in the same turn too', async () => {
  const outcomes = await Promise.all([
    codeOf(rig.submitOnce(request('a'))),
    codeOf(rig.submitOnce(request('a', 'of another'))),
  ]);
  expect(outcomes).toEqual(['fulfilled', 'other-request']);
  expect(await codeOf(rig.submitOnce(request('a', 'of another')))).toBe('other-request');
  expect(await stored()).toHaveLength(1);
});

test('H442: a refused submission leaves its key unused', async () => {
  const tooMany = application(service({ total_count: 1_001, essential_count: 1 }));
  expect(await codeOf(rig.submitOnce(request('a'), tooMany))).toBe('too-many');
  expect(await rig.submitOnce(request('a', 'of another'))).toMatchObject({ isRepeat: false });
});

test('H440: a user who was disabled gets no earlier answer', async () => {
  await rig.submitOnce(request('a'));
  await rig.coordinator.changeAccounts({ kind: 'update-user', id: 1, changes: { enabled: false } });
  expect(await codeOf(rig.submitOnce(request('a')))).toBe('unauthenticated');
});

describe('H443: a key', () => {
  test('H443: counts for 24 hours, and is new after that', async () => {
    const { id } = await rig.submitOnce(request('a'));
    rig.clock.pass(DAY_MS - 1);
    expect(await rig.submitOnce(request('a'))).toEqual({ id, isRepeat: true });
    rig.clock.pass(1);
    const again = await rig.submitOnce(request('a', 'of another'));
    expect(again).toEqual({ id: id + 1, isRepeat: false });
    expect(await rig.submitOnce(request('a', 'of another'))).toEqual({ ...again, isRepeat: true });
  });

  test('H443: beyond the bound of its user is refused until the first of them is 24 hours old, and repeats are not', async () => {
    const first = await rig.submitOnce(request('key 0'));
    rig.clock.pass(60_000);
    for (let at = 1; at < MAX_KEYS; at++) await rig.submitOnce(request(`key ${at}`));
    const refused = { code: 'too-many', retryAfterS: DAY_MS / 1_000 - 60 };
    await expect(rig.submitOnce(request('beyond'))).rejects.toMatchObject(refused);
    rig.restart();
    await expect(rig.submitOnce(request('beyond'))).rejects.toMatchObject({
      ...refused,
      message: expect.stringContaining('BERTH_LIMITS.idempotencyKeysPerUser'),
    });
    expect(await rig.submitOnce(request('key 0'))).toEqual({ ...first, isRepeat: true });
    expect(await rig.submit()).toBe(first.id + MAX_KEYS);
    rig.clock.pass(DAY_MS - 60_000);
    expect(await rig.submitOnce(request('beyond'))).toMatchObject({ isRepeat: false });
  });

  test('H443: beyond the bound is refused among keys of one moment', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: MAX_KEYS + 2 }, (_, at) => codeOf(rig.submitOnce(request(`key ${at}`)))),
    );
    expect(outcomes).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'too-many', 'too-many']);
  });

  test('H443: goes with its user', async () => {
    const { id } = await rig.submitOnce(request('a'));
    await rig.memory.query('DELETE FROM executions WHERE id = ?', [id]);
    await rig.memory.query('DELETE FROM users WHERE id = 1');
    expect(await rig.memory.query('SELECT * FROM idempotency_keys')).toEqual([]);
  });
});

describe('C260: a creation of an account', () => {
  const key = (text: string, digest = 'of the request') => ({ ...request(text, digest), userId: 1 });
  const quota = (name: string) =>
    ({ kind: 'create-quota', quota: { name, concurrentExecutions: 1, memoryBytes: 0, cores: 0 } }) as const;
  const quotas = async () =>
    (await rig.memory.query('SELECT id FROM quotas ORDER BY id')).map(({ id }) => id);

  test('C260: is made once, by repeats in one turn and by later ones, from another coordinator too, also where the answer was lost', async () => {
    const create = () => rig.coordinator.changeAccounts(quota('small'), key('a'));
    const made = await Promise.all([create(), create(), create()]);
    const repeat = { done: true, id: 2, isRepeat: true };
    expect(made).toEqual([{ done: true, id: 2 }, repeat, repeat]);
    await rig.coordinator.changeAccounts({ kind: 'update-quota', id: 2, changes: { name: 'other' } });
    rig.restart();
    expect(await create()).toEqual(repeat);
    const createLarge = () => rig.coordinator.changeAccounts(quota('large'), key('b'));
    for (const failing of ['refused', 'committed'] as const)
      expect(await rig.codeWhile(failing, createLarge)).toBe('unavailable');
    expect(await createLarge()).toEqual({ done: true, id: 3, isRepeat: true });
    expect(await quotas()).toEqual([1, 2, 3]);
  });

  test('C260, H440: shares its key with no other request, and a refusal does not affect its turn', async () => {
    const outcomes = await Promise.all([
      codeOf(rig.coordinator.changeAccounts(quota('small'), key('a'))),
      codeOf(rig.coordinator.changeAccounts(quota('large'), key('a', 'of another'))),
      codeOf(rig.submit()),
    ]);
    expect(outcomes).toEqual(['fulfilled', 'other-request', 'fulfilled']);
    const third = rig.submitOnce(request('b'));
    const sharing = codeOf(rig.coordinator.changeAccounts(quota('large'), key('b', 'of a quota')));
    expect([(await third).isRepeat, await sharing]).toEqual([false, 'other-request']);
    expect(await codeOf(rig.submitOnce(request('a', 'of a third')))).toBe('other-request');
    expect(await quotas()).toEqual([1, 2]);
  });

  test('H442: that the data refuse leaves the key unused', async () => {
    expect(await rig.coordinator.changeAccounts(quota('default'), key('a'))).toMatchObject({ why: 'taken' });
    expect(await rig.coordinator.changeAccounts(quota('small'), key('a', 'of another'))).toMatchObject({
      done: true,
    });
  });

  test('H443: counts under the bound of the user', async () => {
    for (let at = 0; at < MAX_KEYS; at++) await rig.coordinator.changeAccounts(quota(`${at}`), key(`${at}`));
    expect(await codeOf(rig.coordinator.changeAccounts(quota('more'), key('more')))).toBe('too-many');
    expect(await codeOf(rig.submitOnce(request('beyond')))).toBe('too-many');
    expect(await quotas()).toHaveLength(1 + MAX_KEYS);
  });

  test('C132: whose key the database cannot read fails alone', async () => {
    await rig.coordinator.ready();
    rig.db.afterQuery = () => {
      throw new Error('the connection broke off');
    };
    const outcomes = await Promise.all([
      codeOf(rig.coordinator.changeAccounts(quota('small'), key('a'))),
      codeOf(rig.submit()),
    ]);
    expect(outcomes).toEqual(['unavailable', 'fulfilled']);
  });
});

describe('H383: the database is asked for a key', () => {
  let queries: number;
  beforeEach(async () => {
    rig.restart();
    await rig.coordinator.ready();
    queries = 0;
    rig.db.afterQuery = () => {
      queries += 1;
    };
  });
  const queriesOf = async (work: () => Promise<unknown>) => {
    queries = 0;
    await work();
    return queries;
  };

  test('H383: once for a user who has used few, however many requests come at once', async () => {
    const first = () => Promise.all(['a', 'a'].map((key) => rig.submitOnce(request(key))));
    expect(await queriesOf(first)).toBeGreaterThan(0);
    expect(await queriesOf(() => rig.submitOnce(request('b')))).toBe(0);
    expect(await queriesOf(() => rig.submitOnce(request('a')))).toBe(0);
    expect(await stored()).toHaveLength(2);
  });

  test('H383: again after a failed commit', async () => {
    await rig.submitOnce(request('a'));
    expect(await rig.codeWhile('committed', () => rig.submitOnce(request('b')))).toBe('unavailable');
    await rig.coordinator.ready();
    expect(await queriesOf(() => rig.submitOnce(request('b')))).toBeGreaterThan(0);
    expect(await stored()).toHaveLength(2);
  });
});

test('C260: a user with more keys than the coordinator holds gets each earlier answer', async () => {
  rig = await CoordinatorRig.open();
  const made = new Map<string, number>();
  for (let at = 0; at < 150; at++) {
    const key = `key ${at}`;
    made.set(key, (await rig.submitOnce(request(key))).id);
  }
  const check = async () => {
    for (const key of ['key 0', 'key 99', 'key 100', 'key 149'])
      expect(await rig.submitOnce(request(key))).toEqual({ id: made.get(key), isRepeat: true });
  };
  await check();
  rig.restart();
  await check();
  expect(await rig.submitOnce(request('new'))).toMatchObject({ isRepeat: false });
  expect(await stored()).toHaveLength(151);
});
