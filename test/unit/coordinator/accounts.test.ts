import { beforeEach, describe, expect, test } from 'vitest';
import type { KnownActor } from '../../../control-plane/core/accounts/account.ts';
import type { AccountChange, NewUser } from '../../../control-plane/core/accounts/account-input.ts';
import type { AuditEntry } from '../../../control-plane/core/accounts/audit.ts';
import { listExecutionIds, purgeUsers } from '../../../control-plane/store/accounts/user-rows.ts';
import { application, service } from '../../support/fixtures/applications.ts';
import { CoordinatorRig, codeOf, seen } from '../../support/rigs/coordinator-rig.ts';
import { exited, gone, running } from '../../support/rigs/core-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

let rig: CoordinatorRig;
beforeEach(async () => {
  rig = await CoordinatorRig.open();
});

const bob: NewUser = {
  username: 'bob',
  email: '',
  roleId: 3,
  quotaId: 1,
  authSource: 'internal',
  priority: 0,
  enabled: true,
};
const quota = { name: 'small', concurrentExecutions: 1, memoryBytes: 0, cores: 0 };
const identity = { issuer: 'https://provider.example', subject: 'carl' };
const adminRights = {
  ...{ canChangeConfig: true, canDeleteExecutions: true, canSeeStatus: true, canAccessFullAppShop: true },
  ...{ canOperateOthers: true, canCustomizeResources: true, canAccessApi: true, canExec: true },
};
const created = (name: string, fsUid?: number) =>
  rig.coordinator.changeAccounts({ kind: 'create-user', user: { ...bob, username: name, fsUid } });
const entryOfAlice: Omit<AuditEntry, 'action'> = {
  ...{ userId: 1, username: 'alice', credential: 'session', tokenId: null, requestId: 'r', address: null },
};
const alice: KnownActor = {
  kind: 'user',
  credential: { by: 'password' },
  user: {
    ...{ id: 1, username: 'alice', email: '', roleId: 1, quotaId: 1, authSource: 'internal' },
    ...{ fsUid: 1_000, priority: 0, enabled: true, credentialVersion: 1 },
  },
  role: { ...adminRights, id: 1, name: 'admin' },
};
const usernames = async () =>
  (await rig.memory.query('SELECT username FROM users ORDER BY id')).map(({ username }) => username);

test('C50, W105: users, with their password, and quotas get the ids that the database assigned', async () => {
  const { coordinator } = rig;
  const user = { ...bob, passwordHash: 'a hash' };
  expect(await coordinator.changeAccounts({ kind: 'create-user', user })).toEqual({ done: true, id: 2 });
  expect(await coordinator.changeAccounts({ kind: 'create-quota', quota })).toEqual({ done: true, id: 2 });
  expect(await codeOf(rig.submit(application(), 'run', 2))).toBe('fulfilled');
  const made = await rig.memory.query('SELECT password_hash, credential_version FROM users WHERE id = 2');
  expect(made).toEqual([{ password_hash: 'a hash', credential_version: 1 }]);
});

test('C50: each kind of change that the data refuse says why, and fails no other of its turn', async () => {
  const { coordinator } = rig;
  await coordinator.ready();
  const role = { ...adminRights, name: 'operator' };
  const made = (id: number) => ({ done: true, id });
  const taken = { done: false, why: 'taken' };
  const dangling = { done: false, why: 'refers-to-nothing' };
  const refused = { done: false, why: 'refused' };
  const commits = rig.db.batches.length;
  const changes: [AccountChange, object][] = [
    [{ kind: 'create-user', user: bob }, made(2)],
    [{ kind: 'create-user', user: { ...bob, username: 'carl', roleId: 99 } }, dangling],
    [{ kind: 'create-user', user: { ...bob, username: 'carl', quotaId: 99 } }, dangling],
    [{ kind: 'create-user', user: { ...bob, username: 'carl', identity } }, made(3)],
    [{ kind: 'create-user', user: { ...bob, username: 'dora', identity } }, taken],
    [{ kind: 'update-user', id: 2, changes: { username: 'alice' } }, taken],
    [{ kind: 'update-user', id: 2, changes: { identity } }, taken],
    [{ kind: 'update-user', id: 2, changes: { roleId: 99 } }, dangling],
    [{ kind: 'update-user', id: 99, changes: { email: 'x@example.org' } }, refused],
    [{ kind: 'update-user', id: 2, changes: { email: 'bob@example.org' } }, made(2)],
    [{ kind: 'create-quota', quota }, made(2)],
    [{ kind: 'create-quota', quota }, taken],
    [{ kind: 'update-quota', id: 2, changes: { name: 'default' } }, taken],
    [{ kind: 'update-quota', id: 99, changes: { cores: 1 } }, refused],
    [{ kind: 'delete-quota', id: 1 }, refused],
    [{ kind: 'create-role', role }, made(4)],
    [{ kind: 'create-role', role }, taken],
    [{ kind: 'delete-role', id: 1, moves: true }, refused],
    [{ kind: 'delete-user', id: 99 }, refused],
    [{ kind: 'remove-credentials', id: 99, place: { userId: 1, registry: 'r.example' } }, refused],
  ];
  const outcomes = await Promise.all([
    ...changes.map(([change]) => coordinator.changeAccounts(change)),
    codeOf(rig.submit()),
  ]);
  expect(outcomes).toEqual([...changes.map(([, outcome]) => outcome), 'fulfilled']);
  expect(rig.db.batches).toHaveLength(commits + 1);
  expect(await rig.memory.query('SELECT user_id FROM sign_ons')).toEqual([{ user_id: 3 }]);
  expect(await rig.memory.query('SELECT email FROM users WHERE id = 2')).toEqual([
    { email: 'bob@example.org' },
  ]);
});

test('C50, H440: what a change records names what it has made, beside others in its turn', async () => {
  const entry = (action: 'create-user' | 'create-quota', targetName: string): AuditEntry => ({
    ...entryOfAlice,
    ...{ action, targetName },
  });
  const { coordinator } = rig;
  await Promise.all([
    coordinator.changeAccounts({ kind: 'create-user', user: bob }, undefined, entry('create-user', 'bob')),
    coordinator.changeAccounts({ kind: 'create-user', user: bob }, undefined, entry('create-user', 'bob')),
    ...['a', 'b', 'a'].map((name, at) =>
      coordinator.changeAccounts(
        { kind: 'create-quota', quota: { ...quota, name } },
        { userId: 1, key: `${at}`, digest: 'd' },
        entry('create-quota', name),
      ),
    ),
  ]);
  expect(await rig.memory.query('SELECT target_name, target_id FROM audit ORDER BY id')).toEqual([
    { target_name: 'bob', target_id: 2 },
    { target_name: 'a', target_id: 2 },
    { target_name: 'b', target_id: 3 },
  ]);
  expect(await rig.memory.query('SELECT key, made_id FROM idempotency_keys ORDER BY key')).toEqual([
    { key: '0', made_id: 2 },
    { key: '1', made_id: 3 },
  ]);
});

describe('C330: while one user requests 1,000 changes and explanations at a moment', () => {
  const waiting = 20;
  /** Waits for the database so far: those at the same time are one. */
  let waits: number;
  let pending: Promise<void> | undefined;
  const wait = () => {
    pending ??= new Promise((resolve) => {
      waits += 1;
      setImmediate(() => {
        pending = undefined;
        resolve();
      });
    });
    return pending;
  };
  beforeEach(async () => {
    await rig.coordinator.changeAccounts({ kind: 'create-user', user: bob });
    const needsMuch = application(
      service({ resources: { memory: { min: 2 ** 50, max: 2 ** 50 }, cores: { min: 1, max: 1 } } }),
    );
    for (let at = 0; at < waiting; at++) await rig.submit(needsMuch);
    rig.restart();
    await rig.coordinator.ready();
    waits = 0;
    rig.db.before = wait;
    rig.db.afterQuery = wait;
  });

  const email = (at: number) =>
    rig.coordinator.changeAccounts(
      { kind: 'update-user', id: 1, changes: { email: `${at}@example.org` } },
      undefined,
      { ...entryOfAlice, action: 'update-user', targetId: 1 },
    );
  const byBob = () => {
    const actor: KnownActor = { ...alice, user: { ...alice.user, id: 2, username: 'bob' } };
    const one = application();
    const description = JSON.stringify(one);
    return rig.coordinator.submit({ userId: 2, name: 'run', application: one, description }, actor);
  };

  test('C330: the submission of another waits for a few round trips, and shares the next turn', async () => {
    const all = [
      ...Array.from({ length: 1_000 }, (_, at) => email(at)),
      ...Array.from({ length: 1_000 }, (_, at) => rig.coordinator.explain(1 + (at % waiting), alice)),
    ];
    await byBob();
    expect(waits).toBeLessThanOrEqual(6);
    await Promise.all(all);
    expect(await rig.memory.query('SELECT email FROM users WHERE id = 1')).toEqual([
      { email: '999@example.org' },
    ]);
  });

  test('C331: an explanation reads outside of turns, and nothing for a user who must not see it', async () => {
    const batches = rig.db.batches.length;
    const explained = await rig.coordinator.explain(1, alice);
    expect(explained?.waitingFor[0]).toContain('not connected');
    expect(rig.db.batches).toHaveLength(batches);
    const before = waits;
    const stranger: KnownActor = {
      ...alice,
      user: { ...alice.user, id: 2 },
      role: { ...alice.role, canOperateOthers: false },
    };
    expect(await codeOf(rig.coordinator.explain(2, stranger))).toBe('not-found');
    expect(waits).toBe(before);
  });
});

test('H754: neither the number nor the workspace of a deleted user is given to another', async () => {
  const { coordinator } = rig;
  await created('bob');
  await coordinator.changeAccounts({ kind: 'delete-user', id: 2 });
  await rig.memory.batch([purgeUsers]);
  await created('bob');
  await created('carl', 5_000);
  await coordinator.changeAccounts({ kind: 'update-user', id: 4, changes: { fsUid: 3_000 } });
  await coordinator.changeAccounts({ kind: 'delete-user', id: 4 });
  await rig.memory.batch([purgeUsers]);
  await created('dora');
  expect(await created('eve', 3_000)).toEqual({ done: false, why: 'taken' });
  expect(await created('eve', 1_001)).toEqual({ done: false, why: 'taken' });
  const numbered = { kind: 'update-user', id: 3, changes: { fsUid: 5_000 } } as const;
  expect(await coordinator.changeAccounts(numbered)).toEqual({ done: false, why: 'taken' });
  expect(await rig.memory.query('SELECT username, fs_uid, workspace FROM users ORDER BY id')).toEqual([
    { username: 'alice', fs_uid: 1_000, workspace: 'alice' },
    { username: 'bob', fs_uid: 1_002, workspace: expect.stringMatching(/^bob\.[0-9a-f]{8}$/) },
    { username: 'dora', fs_uid: 5_001, workspace: 'dora' },
  ]);
});

test('H754: a service has the workspace of its user, also after a restart, or after the user was renamed and the name was given again', async () => {
  await rig.coordinator.changeAccounts({ kind: 'update-user', id: 1, changes: { username: 'anna' } });
  await created('alice');
  const agent = await rig.agent().join();
  await rig.submit(application(), 'of anna', 1);
  expect((await agent.started(1)).owner).toBe('alice');
  await rig.submit(application(), 'of the second alice', 2);
  expect((await agent.started(2)).owner).toMatch(/^alice\.[0-9a-f]{8}$/);
  rig.restart();
  const again = await rig.agent().join();
  await rig.submit(application(), 'run', 2);
  const [row] = await rig.memory.query('SELECT workspace FROM users WHERE id = 2');
  expect((await again.started(3)).owner).toBe(row?.workspace);
  expect(row?.workspace).toMatch(/^alice\.[0-9a-f]{8}$/);
});

test('H140: what waits starts on a host that takes services again at the moment a quota is changed', async () => {
  const agent = await rig.agent().join();
  await rig.coordinator.changeHost(1, { schedulable: false });
  const id = await rig.submit();
  expect(await rig.statusOf(id)).toBe('queued');
  const raise = { kind: 'update-quota', id: 1, changes: { concurrentExecutions: 5 } } as const;
  await Promise.all([
    rig.coordinator.changeHost(1, { schedulable: true }),
    rig.coordinator.changeAccounts(raise),
  ]);
  expect(await agent.started(1)).toBeDefined();
});

test('C50: a quota that was changed is acknowledged although the turn for what waits is lost', async () => {
  await rig.agent().join();
  const raise = (concurrentExecutions: number) =>
    rig.coordinator.changeAccounts({ kind: 'update-quota', id: 1, changes: { concurrentExecutions } });
  await raise(1);
  await rig.submit();
  await rig.submit();
  const { length } = rig.db.batches;
  rig.db.before = () => {
    if (rig.db.batches.length > length + 1) rig.db.failing = 'refused';
  };
  expect(await raise(2)).toMatchObject({ done: true });
});

test('C50: a change that the database may not have made is not acknowledged, and the state is read again', async () => {
  await rig.coordinator.ready();
  const disable = { kind: 'update-user', id: 1, changes: { enabled: false } } as const;
  expect(await rig.codeWhile('refused', () => rig.coordinator.changeAccounts(disable))).toBe('unavailable');
  expect(await codeOf(rig.submit())).toBe('fulfilled');
  expect(await rig.codeWhile('committed', () => rig.coordinator.changeAccounts(disable))).toBe('unavailable');
  expect(await codeOf(rig.submit())).toBe('unauthenticated');
});

test('C42: a coordinator cannot change a user after a takeover', async () => {
  await rig.coordinator.ready();
  const earlier = rig.coordinator;
  rig.restart();
  await rig.coordinator.ready();
  expect(await codeOf(earlier.changeAccounts({ kind: 'create-user', user: bob }))).toBe('unavailable');
  expect(await usernames()).toEqual(['alice']);
});

test('C51: a deleted or disabled user can submit nothing', async () => {
  const { coordinator } = rig;
  await coordinator.changeAccounts({ kind: 'update-user', id: 1, changes: { enabled: false } });
  expect(await codeOf(rig.submit())).toBe('unauthenticated');
  await coordinator.changeAccounts({ kind: 'update-user', id: 1, changes: { enabled: true } });
  expect(await codeOf(rig.submit())).toBe('fulfilled');
  await coordinator.changeAccounts({ kind: 'delete-user', id: 1 });
  expect(await codeOf(rig.submit())).toBe('unauthenticated');
  expect(await rig.memory.query('SELECT id FROM executions')).toHaveLength(1);
  rig.restart();
  expect(await codeOf(rig.submit())).toBe('unauthenticated');
  // A refusal precedes the commit of its turn.
  await rig.coordinator.state();
  expect(await rig.memory.query('SELECT id FROM executions')).toEqual([]);
});

test('C51: a deletion follows earlier submissions, and precedes later ones', async () => {
  await rig.coordinator.changeAccounts({ kind: 'create-user', user: bob });
  const commit = rig.db.hold();
  const early = rig.submit(application(), 'early', 2);
  await commit.begun;
  const deleted = rig.coordinator.changeAccounts({ kind: 'delete-user', id: 2 });
  const late = codeOf(rig.submit(application(), 'late', 2));
  commit.release();
  await deleted;
  expect(await listExecutionIds(rig.memory, 2)).toEqual([await early]);
  expect(await late).toBe('unauthenticated');
});

test('H98: the next coordinator completes the interrupted deletion of a user', async () => {
  const { coordinator } = rig;
  await coordinator.changeAccounts({ kind: 'create-user', user: bob });
  const agent = await rig.agent().join();
  const ended = await rig.submit(application(), 'ended', 2);
  const endedService = await agent.started(1);
  await agent.reportAndWait(seen(endedService, exited(0)), seen(endedService, gone));
  await rig.submit(application(), 'running', 2);
  const runningService = await agent.started(2);
  const remaining = await rig.submit(application(), 'of another', 1);
  expect(await rig.statusOf(ended)).toBe('terminated');
  // The user is hidden; then the process dies.
  await coordinator.changeAccounts({ kind: 'delete-user', id: 2 });
  rig.restart();

  const again = await rig.agent().join([seen(runningService, running)]);
  expect(again.socket.all('forget').flatMap(({ services }) => services)).toContain(endedService.service);
  await eventually(() => again.socket.all('stop').some(({ service }) => service === runningService.service));
  await again.reportAndWait(seen(runningService, gone));
  again.report([], [endedService.service, runningService.service]);
  await eventually(async () => (await usernames()).join() === 'alice');
  expect(await rig.memory.query('SELECT id FROM executions')).toEqual([{ id: remaining }]);
});
