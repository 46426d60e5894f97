/** The rows of users, roles, quotas, sessions and tokens: what each condition of a write and of a read decides. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { User } from '../../../control-plane/core/accounts/account.ts';
import type {
  AccountChange,
  StoredUserChanges,
  UserFilter,
} from '../../../control-plane/core/accounts/account-input.ts';
import { writesOf } from '../../../control-plane/store/accounts/account-changes.ts';
import { allRows } from '../../../control-plane/store/accounts/account-writes.ts';
import {
  countKeys,
  findKey,
  insertKey,
  listKeys,
} from '../../../control-plane/store/accounts/idempotency-keys.ts';
import {
  listPersonalTokens,
  writePersonalTokenUse,
} from '../../../control-plane/store/accounts/personal-tokens.ts';
import { listQuotas } from '../../../control-plane/store/accounts/quotas.ts';
import { findReferences } from '../../../control-plane/store/accounts/references.ts';
import { listRoles } from '../../../control-plane/store/accounts/roles.ts';
import { findAccountByIdentity, findIdentity } from '../../../control-plane/store/accounts/sign-ons.ts';
import { deleteToken, insertAccess, insertPair } from '../../../control-plane/store/accounts/tokens.ts';
import { findUser, isLikeness, listUsers } from '../../../control-plane/store/accounts/user-rows.ts';
import {
  countUsers,
  extendSession,
  findAccountByName,
  findAccountByPersonalToken,
  findAccountBySession,
  findAccountByToken,
  findAccountsAlike,
  findSessionTimes,
  insertSession,
  type NewSession,
} from '../../../control-plane/store/accounts/users.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { openEmbedded } from '../../../control-plane/store/db/embedded.ts';
import { migrate } from '../../../control-plane/store/schema/migrate.ts';
import { migrations } from '../../../control-plane/store/schema/migrations.ts';

const AUDIT = { sql: 'SELECT 1', args: [] };
let db: Db;
let roles: Record<string, number>;
let ann: number;

beforeEach(async () => {
  db = await openEmbedded(':memory:');
  await migrate(db, migrations);
  roles = Object.fromEntries((await listRoles(db, {})).map(({ name, id }) => [name, id]));
  ann = await added('ann', { roleId: roles.admin, passwordHash: 'h' });
});

async function make(change: AccountChange): Promise<string | number> {
  const writes = writesOf({ change, timeMs: 1, settled: () => {} });
  const outcome = writes.outcomeOf(await db.batchRows(writes.statements));
  return outcome.done ? outcome.id : outcome.why;
}

const usual = { email: 'a@b', quotaId: 1, authSource: 'internal', priority: 0, enabled: true };
const add = (username: string, changes: StoredUserChanges = {}) =>
  make({
    kind: 'create-user',
    user: { ...usual, username, roleId: roles.user ?? 0, ...changes } as Extract<
      AccountChange,
      { kind: 'create-user' }
    >['user'],
  });
async function added(username: string, changes: StoredUserChanges = {}): Promise<number> {
  const id = await add(username, changes);
  expect(id).toBeTypeOf('number');
  return Number(id);
}
const update = (id: number, changes: StoredUserChanges) => make({ kind: 'update-user', id, changes });
const hide = (id: number) => make({ kind: 'delete-user', id });
const versionOf = async (id: number) => (await findUser(db, id))?.credentialVersion;

describe('users', () => {
  test('H97, H541: the last administrator who can log in stays one, and any other may go', async () => {
    const losses: StoredUserChanges[] = [{ enabled: false }, { roleId: roles.user }, { authSource: 'ldap' }];
    for (const changes of losses) expect(await update(ann, changes)).toBe('refused');
    expect(await hide(ann)).toBe('refused');
    expect(await update(ann, { email: 'x', roleId: roles.admin, enabled: true })).toBe(ann);
    // None of these is another administrator who can log in.
    await added('no-password', { roleId: roles.admin });
    await added('disabled', { roleId: roles.admin, enabled: false, passwordHash: 'h' });
    await added('plain', { passwordHash: 'h' });
    await added('directory', { roleId: roles.admin, authSource: 'ldap', passwordHash: 'h' });
    for (const changes of losses) expect(await update(ann, changes)).toBe('refused');
    const bob = await added('bob', { roleId: roles.admin, passwordHash: 'h' });
    for (const changes of losses) {
      expect(await update(bob, changes)).toBe(bob);
      const { roleId, authSource } = { roleId: roles.admin, authSource: 'internal' };
      expect(await update(bob, { roleId, authSource, enabled: true })).toBe(bob);
    }
    expect(await hide(ann)).toBe(ann);
    expect(await hide(ann)).toBe('refused');
    expect(await hide(bob)).toBe('refused');
    expect([(await listUsers(db, {})).length, await countUsers(db)]).toEqual([5, 5]);
  });

  test('H97: what is taken by another user is refused, what is the own stays, and roles and quotas must exist', async () => {
    const identity = { issuer: 'i', subject: 's' };
    const bob = await added('bob', { fsUid: 5_000, identity, authSource: 'oidc' });
    for (const changes of [{ username: 'bob' }, { identity }])
      expect([await add('cid', changes), await update(ann, changes)]).toEqual(['taken', 'taken']);
    for (const changes of [
      { username: 'bob' },
      { fsUid: 5_000 },
      { identity },
      { roleId: roles.user, quotaId: 1 },
    ])
      expect(await update(bob, changes)).toBe(bob);
    for (const changes of [{ roleId: 99 }, { quotaId: 99 }])
      expect([await add('cid', changes), await update(bob, changes)]).toEqual(
        Array(2).fill('refers-to-nothing'),
      );
    expect(await update(99, { email: 'x' })).toBe('refused');
    expect(await findIdentity(db, bob)).toEqual(identity);
    expect((await findAccountByIdentity(db, identity))?.user.id).toBe(bob);
    for (const other of [
      { ...identity, issuer: 'x' },
      { ...identity, subject: 'x' },
    ])
      expect(await findAccountByIdentity(db, other)).toBeUndefined();
    // A number is shared among living users, and never passes to another one.
    const cid = await added('cid', { fsUid: 5_000 });
    await hide(bob);
    expect(await findAccountByIdentity(db, identity)).toBeUndefined();
    expect(await added('dan', { username: 'dan', identity })).toBeGreaterThan(cid);
    await hide(cid);
    expect(await add('eve', { fsUid: 5_000 })).toBe('taken');
    expect((await findUser(db, await added('eve')))?.fsUid).toBe(5_002);
  });

  test('H776: two users of the directory never have names that it takes for one', async () => {
    await added('Ann B', { authSource: 'ldap' });
    expect(await add('ann b', { authSource: 'ldap' })).toBe('taken');
    const other = await added('ann b');
    expect(await update(other, { authSource: 'ldap', foldedName: 'ann b' })).toBe('taken');
    expect(await update(other, { email: 'x', foldedName: 'ann b' })).toBe(other);
    expect((await findAccountsAlike(db, 'ANN B')).map(({ user }) => user.username)).toEqual([
      'Ann B',
      'ann b',
    ]);
    expect(await findAccountsAlike(db, 'a_n b')).toEqual([]);
    const likenesses = ['ANN', 'ann', 'Ann b', 'bob'].map((name) => isLikeness(db, name));
    expect(await Promise.all(likenesses)).toEqual([true, true, true, false]);
    await added('spare', { roleId: roles.admin, passwordHash: 'h' });
    await hide(ann);
    expect([await isLikeness(db, 'ann'), await findAccountByName(db, 'ann')]).toEqual([false, undefined]);
  });

  test('H96: a list has the users that pass every filter', async () => {
    const bob = await added('bob', {
      email: 'b@c',
      roleId: roles.superuser,
      authSource: 'ldap',
      priority: 5,
    });
    await update(bob, { enabled: false });
    const quotaId = Number(
      await make({
        kind: 'create-quota',
        quota: { name: 'q', concurrentExecutions: 1, memoryBytes: 2, cores: 3 },
      }),
    );
    await update(bob, { quotaId });
    const filters: UserFilter[] = [
      ...[{ username: 'bob' }, { email: 'b@c' }, { roleId: roles.superuser }, { quotaId }],
      ...[{ authSource: 'ldap' }, { priority: 5 }, { enabled: false }],
    ];
    for (const filter of filters) {
      expect((await listUsers(db, filter)).map(({ id }) => id)).toEqual([bob]);
      expect(await listUsers(db, { ...filter, email: 'none' })).toEqual([]);
    }
    const expected: Partial<User> = { username: 'bob', priority: 5, enabled: false, fsUid: 1_001 };
    expect(await findUser(db, bob)).toMatchObject(expected);
    expect((await listQuotas(db, { name: 'q' })).map(({ id }) => id)).toEqual([quotaId]);
    expect(await findReferences(db, 'quota', quotaId)).toEqual({ users: 1, deletedUsers: 0, hosts: [] });
  });

  test('H19: only a change of permissions or credentials ends sessions', async () => {
    const bob = await added('bob', { passwordHash: 'h' });
    const steps: [StoredUserChanges, number][] = [
      [{ email: 'x', priority: 3, username: 'bobby', quotaId: 1 }, 0],
      [{ roleId: roles.user, enabled: true, authSource: 'internal' }, 0],
      ...(
        [
          { roleId: roles.superuser },
          { enabled: false },
          { authSource: 'ldap' },
          { passwordHash: 'i' },
        ] as const
      ).map((changes): [StoredUserChanges, number] => [changes, 1]),
      [{ identity: { issuer: 'i', subject: 's' } }, 1],
      [{ identity: null }, 1],
    ];
    for (const [changes, more] of steps) {
      const before = Number(await versionOf(bob));
      await update(bob, changes);
      expect([changes, await versionOf(bob)]).toEqual([changes, before + more]);
    }
    expect(await findIdentity(db, bob)).toBeUndefined();
  });
});

describe('H172: the users of a role or a quota that goes', () => {
  const quota = { name: 'q', concurrentExecutions: 5, memoryBytes: 5, cores: 5, maxTimeLimitS: 5 };
  const caps = ['concurrentExecutions', 'memoryBytes', 'cores', 'maxTimeLimitS'] as const;

  test('H172: a quota goes if the default allows nothing more, which it does where it is higher or has no cap', async () => {
    const quotaId = Number(await make({ kind: 'create-quota', quota }));
    const bob = await added('bob', { quotaId });
    const remove = () => make({ kind: 'delete-quota', id: quotaId, moves: true });
    const equal = Object.fromEntries(caps.map((cap) => [cap, 5]));
    for (const cap of caps)
      for (const value of [0, 6]) {
        await make({ kind: 'update-quota', id: 1, changes: { ...equal, [cap]: value } });
        expect([cap, value, await remove()]).toEqual([cap, value, 'refused']);
      }
    await make({ kind: 'update-quota', id: 1, changes: equal });
    expect(await make({ kind: 'delete-quota', id: quotaId })).toBe('refused');
    expect(await remove()).toBe(quotaId);
    expect((await findUser(db, bob))?.quotaId).toBe(1);
    expect(await make({ kind: 'delete-quota', id: 1, moves: true })).toBe('refused');
  });

  test('H172: where the quota has no cap, the default may have any', async () => {
    const quotaId = Number(await make({ kind: 'create-quota', quota: { ...quota, cores: 0 } }));
    await added('bob', { quotaId });
    const equal = Object.fromEntries(caps.map((cap) => [cap, cap === 'cores' ? 9 : 5]));
    await make({ kind: 'update-quota', id: 1, changes: equal });
    expect(await make({ kind: 'delete-quota', id: quotaId, moves: true })).toBe(quotaId);
  });

  test('H97, H172: a role goes only if that of plain users permits nothing more, and never that of administrators', async () => {
    const [plain] = await listRoles(db, { name: 'user' });
    if (!plain) throw new Error('there is a role of plain users');
    const { id: _, ...rights } = plain;
    const make2 = (name: string, changes = {}) =>
      make({ kind: 'create-role', role: { ...rights, name, ...changes } });
    const flags = (Object.keys(rights) as (keyof typeof rights)[]).filter((one) => rights[one] === true);
    expect(flags.length).toBeGreaterThan(0);
    for (const flag of flags) {
      const less = Number(await make2(`no ${flag}`, { [flag]: false }));
      await added(flag, { roleId: less });
      expect(await make({ kind: 'delete-role', id: less, moves: true })).toBe('refused');
    }
    expect(await make2('user')).toBe('taken');
    const same = Number(await make2('same', { canChangeConfig: true }));
    const bob = await added('bob', { roleId: same });
    const before = Number(await versionOf(bob));
    expect(await make({ kind: 'delete-role', id: same, moves: true })).toBe(same);
    expect(await findUser(db, bob)).toMatchObject({ roleId: plain.id, credentialVersion: before + 1 });
    for (const id of [plain.id, roles.admin ?? 0])
      expect(await make({ kind: 'delete-role', id, moves: true })).toBe('refused');
  });

  test('H93: a quota never takes the name of another one, and may keep its own', async () => {
    const id = Number(await make({ kind: 'create-quota', quota }));
    expect(await make({ kind: 'create-quota', quota })).toBe('taken');
    expect(await make({ kind: 'update-quota', id, changes: { name: 'default' } })).toBe('taken');
    expect(await make({ kind: 'update-quota', id, changes: { name: 'q', cores: 7 } })).toBe(id);
    expect(await make({ kind: 'update-quota', id: 99, changes: { cores: 7 } })).toBe('refused');
    expect((await listQuotas(db, { name: 'q' }))[0]).toEqual({ ...quota, id, cores: 7, timeLimitS: 0 });
  });
});

describe('sessions and tokens', () => {
  const session = (tokenHash: string, changes: Partial<NewSession> = {}): NewSession => ({
    ...{ tokenHash, userId: ann, credentialVersion: 0, expiresMs: 100, fullUntilMs: null, openedFrom: null },
    ...changes,
  });
  const insert = (one: NewSession, maxPerUser = 9) =>
    insertSession(db, one, { nowMs: 1, maxPerUser, keptMs: 10 });
  const left = async () => {
    const rows = await db.query('SELECT token_hash FROM sessions ORDER BY token_hash');
    return rows.map((row) => row.token_hash).join('');
  };
  beforeEach(() => db.batch([{ sql: 'UPDATE users SET credential_version = 0', args: [] }]));

  test('H169: a session admits until its end, for work alone longer, and while its user may log in', async () => {
    await insert(session('a', { fullUntilMs: 50, signedOnMs: 7 }));
    const end = async (nowMs: number, workOnly: boolean) =>
      (await findAccountBySession(db, 'a', nowMs, workOnly))?.expiresMs;
    expect([await end(49, false), await end(50, false)]).toEqual([50, undefined]);
    expect([await end(99, true), await end(100, true)]).toEqual([100, undefined]);
    expect(await findSessionTimes(db, 'a')).toEqual({ expiresMs: 50, signedOnMs: 7 });
    expect(await extendSession(db, { tokenHash: 'a', expiresMs: 200, fullUntilMs: null })).toBe(true);
    expect(await extendSession(db, { tokenHash: 'b', expiresMs: 200, fullUntilMs: null })).toBe(false);
    expect(await end(199, false)).toBe(200);
    for (const change of ['enabled = 0', 'credential_version = 1', 'deleted = 1']) {
      await db.batch([{ sql: `UPDATE users SET ${change}`, args: [] }]);
      expect(await end(1, true)).toBeUndefined();
      await db.batch([
        { sql: 'UPDATE users SET enabled = 1, credential_version = 0, deleted = 0', args: [] },
      ]);
    }
    await insert(session('z', { userId: 99 }));
    expect(await left()).toBe('a');
  });

  test('H327: beyond the bound those by Basic credentials end first, then those of programs, of equals the oldest', async () => {
    const at = (name: string, openedFrom: string | null, expiresMs: number) =>
      insert(session(name, { openedFrom, expiresMs }));
    for (const [name, from, expiresMs] of [
      ['a', null, 20],
      ['b', 'program', 30],
      ['c', 'program', 40],
      ['d', '1.2.3.4', 50],
    ] as const)
      expect(await at(name, from, expiresMs)).toBe(false);
    expect(await insert(session('e', { expiresMs: 15 }), 4)).toBe(true);
    expect(await left()).toBe('abce');
    expect(await insert(session('f', { expiresMs: 15 }), 4)).toBe(true);
    expect(await left()).toBe('acef');
  });

  test('H327: a session by Basic credentials replaces those from its address, but for recent ones', async () => {
    const from = (name: string, openedFrom: string, expiresMs: number) =>
      insert(session(name, { openedFrom, expiresMs }));
    await from('a', 'x', 89);
    await from('b', 'y', 89);
    await from('c', 'program', 89);
    expect(await from('d', 'x', 98)).toBe(false);
    expect(await from('e', 'x', 99)).toBe(true);
    expect(await from('f', 'program', 199)).toBe(false);
    expect(await left()).toBe('bcdef');
  });

  test('H125: a user has so many tokens of a kind, one that is revoked takes its access tokens with it, and expired ones go', async () => {
    const owner = { userId: ann, credentialVersion: 0 };
    const limits = { maxPerKind: 2, nowMs: 1 };
    const pair = (name: string, expiresMs: number) =>
      insertPair(
        db,
        owner,
        { refresh: { idHash: `r${name}`, expiresMs }, access: { idHash: `a${name}`, expiresMs } },
        limits,
        AUDIT,
      );
    const isThere = async (hash: string, kind: 'access' | 'refresh', nowMs = 1) =>
      (await findAccountByToken(db, hash, kind, nowMs)) !== undefined;
    expect([await pair('1', 10), await pair('2', 20), await pair('3', 30)]).toEqual([false, false, true]);
    expect([await isThere('r1', 'refresh'), await isThere('a1', 'access')]).toEqual([false, false]);
    expect([await isThere('r2', 'refresh', 19), await isThere('r2', 'refresh', 20)]).toEqual([true, false]);
    expect(await isThere('a2', 'refresh')).toBe(false);
    const more = (idHash: string, refresh: string) =>
      insertAccess(db, ann, refresh, { idHash, expiresMs: 40 }, limits, AUDIT);
    expect(await more('a4', 'r3')).toEqual({ isInserted: true, hasEndedOther: true });
    expect(await more('a5', 'r1')).toEqual({ isInserted: false, hasEndedOther: false });
    expect(await more('a6', 'a3')).toEqual({ isInserted: false, hasEndedOther: false });
    expect([await deleteToken(db, 99, 'r3', AUDIT), await deleteToken(db, ann, 'r3', AUDIT)]).toEqual([
      false,
      true,
    ]);
    expect([await isThere('a4', 'access'), await isThere('r2', 'refresh')]).toEqual([false, true]);
    await db.batch([{ sql: 'UPDATE users SET credential_version = 1', args: [] }]);
    expect(await isThere('r2', 'refresh')).toBe(false);
  });

  test('H483, H489: a personal token is made while its user may log in, up to the limit, and works until its end', async () => {
    const token = (name: string, changes = {}) =>
      make({
        kind: 'create-personal-token',
        token: {
          ...{ userId: ann, name, hash: name, scopes: [], madeMs: 5, expiresMs: 20, credentialVersion: 0 },
          ...changes,
        },
        maxPerUser: 2,
      });
    expect(await token('a', { credentialVersion: 1 })).toBe('refused');
    const id = await token('a');
    expect(await token('a', { hash: 'x' })).toBe('taken');
    expect(await token('b', { expiresMs: null })).not.toBe('refused');
    expect(await token('c')).toBe('refused');
    const find = async (hash: string, nowMs: number) =>
      (await findAccountByPersonalToken(db, hash, nowMs))?.id;
    expect([await find('a', 19), await find('a', 20)]).toEqual([id, undefined]);
    expect(await find('b', 1e12)).toBeDefined();
    for (const [hash, usedMs] of [
      ['a', 7],
      ['a', 6],
      ['a', 21],
      ['b', 8],
    ] as const)
      await writePersonalTokenUse(db, hash, usedMs);
    expect((await listPersonalTokens(db, ann)).map(({ usedMs }) => usedMs)).toEqual([7, 8]);
    // The expired one makes room.
    expect(await token('c', { madeMs: 20, expiresMs: null })).not.toBe('refused');
    for (const change of ['enabled = 0', "auth_source = 'other'", "auth_source = 'oidc'", 'deleted = 1']) {
      await db.batch([{ sql: `UPDATE users SET ${change}`, args: [] }]);
      expect([change, await find('b', 1)]).toEqual([change, undefined]);
      await db.batch([
        { sql: "UPDATE users SET enabled = 1, auth_source = 'internal', deleted = 0", args: [] },
      ]);
    }
  });

  test('H443: a key is kept for a day, and is free again after that', async () => {
    const DAY_MS = 86_400_000;
    const key = (digest: string, madeMs: number) => ({ userId: ann, key: 'k', digest, madeId: 1, madeMs });
    const digest = async () => (await findKey(db, ann, 'k'))?.digest;
    await db.batch([insertKey(key('a', 5))]);
    await db.batch([insertKey(key('b', DAY_MS + 4))]);
    expect(await digest()).toBe('a');
    expect(await countKeys(db, ann, DAY_MS + 4)).toEqual({ count: 1, oldestMs: 5 });
    expect([await countKeys(db, ann, DAY_MS + 5), await listKeys(db, ann, DAY_MS + 5, 9)]).toEqual([
      { count: 0, oldestMs: null },
      [],
    ]);
    await db.batch([insertKey(key('b', DAY_MS + 5))]);
    expect(await digest()).toBe('b');
    expect([await findKey(db, 99, 'k'), await findKey(db, ann, 'x')]).toEqual([undefined, undefined]);
  });
});

test('all rows are read, however many pages they take', async () => {
  const names = Array.from({ length: 2_000 }, (_, n) => `u${n}`);
  await db.query(
    `INSERT INTO users (username, email, role_id, quota_id, auth_source, fs_uid, priority, enabled)
      SELECT value, '', 1, 1, 'internal', 1, 0, 1 FROM json_each(?)`,
    [JSON.stringify(names)],
  );
  const rows = await allRows(db, 'SELECT id FROM users WHERE id > ? ORDER BY id LIMIT ?', []);
  expect(rows).toHaveLength(2_001);
});
