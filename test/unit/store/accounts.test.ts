/** The rows of users, roles and quotas: what each condition of a write and of a read decides. */
import { beforeEach, expect, test } from 'vitest';
import type { AccountChange, StoredUserChanges } from '../../../control-plane/core/accounts/account-input.ts';
import { writesOf } from '../../../control-plane/store/accounts/account-changes.ts';
import { listRoles } from '../../../control-plane/store/accounts/roles.ts';
import { findAccountByIdentity, findIdentity } from '../../../control-plane/store/accounts/sign-ons.ts';
import { findUser, isLikeness, listUsers } from '../../../control-plane/store/accounts/user-rows.ts';
import {
  countUsers,
  findAccountByName,
  findAccountsAlike,
} from '../../../control-plane/store/accounts/users.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { openEmbedded } from '../../../control-plane/store/db/embedded.ts';
import { migrate } from '../../../control-plane/store/schema/migrate.ts';
import { migrations } from '../../../control-plane/store/schema/migrations.ts';

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
type NewUser = Extract<AccountChange, { kind: 'create-user' }>['user'];
const add = (username: string, changes: StoredUserChanges = {}) => {
  const user = { ...usual, username, roleId: roles.user ?? 0, ...changes } as NewUser;
  return make({ kind: 'create-user', user });
};
async function added(username: string, changes: StoredUserChanges = {}): Promise<number> {
  const id = await add(username, changes);
  expect(id).toBeTypeOf('number');
  return Number(id);
}
const update = (id: number, changes: StoredUserChanges) => make({ kind: 'update-user', id, changes });
const hide = (id: number) => make({ kind: 'delete-user', id });
const versionOf = async (id: number) => (await findUser(db, id))?.credentialVersion;

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
  const own = { roleId: roles.user, quotaId: 1 };
  for (const changes of [{ username: 'bob' }, { fsUid: 5_000 }, { identity }, own])
    expect(await update(bob, changes)).toBe(bob);
  for (const changes of [{ roleId: 99 }, { quotaId: 99 }])
    for (const outcome of [await add('cid', changes), await update(bob, changes)])
      expect(outcome).toBe('refers-to-nothing');
  expect(await update(99, { email: 'x' })).toBe('refused');
  expect(await findIdentity(db, bob)).toEqual(identity);
  expect((await findAccountByIdentity(db, identity))?.user.id).toBe(bob);
  for (const other of [{ issuer: 'x' }, { subject: 'x' }])
    expect(await findAccountByIdentity(db, { ...identity, ...other })).toBeUndefined();
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
  const alike = (await findAccountsAlike(db, 'ANN B')).map(({ user }) => user.username);
  expect(alike).toEqual(['Ann B', 'ann b']);
  expect(await findAccountsAlike(db, 'a_n b')).toEqual([]);
  const likenesses = ['ANN', 'ann', 'Ann b', 'bob'].map((name) => isLikeness(db, name));
  expect(await Promise.all(likenesses)).toEqual([true, true, true, false]);
  await added('spare', { roleId: roles.admin, passwordHash: 'h' });
  await hide(ann);
  expect([await isLikeness(db, 'ann'), await findAccountByName(db, 'ann')]).toEqual([false, undefined]);
});

test('H19: only a change of permissions or credentials ends sessions', async () => {
  const bob = await added('bob', { passwordHash: 'h' });
  const steps: [StoredUserChanges, number][] = [
    [{ email: 'x', priority: 3, username: 'bobby', quotaId: 1 }, 0],
    [{ roleId: roles.user, enabled: true, authSource: 'internal' }, 0],
    [{ roleId: roles.superuser }, 1],
    [{ enabled: false }, 1],
    [{ authSource: 'ldap' }, 1],
    [{ passwordHash: 'i' }, 1],
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
  // Where the quota has no cap, the default may have any.
  const uncapped = Number(await make({ kind: 'create-quota', quota: { ...quota, cores: 0 } }));
  await added('cid', { quotaId: uncapped });
  await make({ kind: 'update-quota', id: 1, changes: { ...equal, cores: 9 } });
  expect(await make({ kind: 'delete-quota', id: uncapped, moves: true })).toBe(uncapped);
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
