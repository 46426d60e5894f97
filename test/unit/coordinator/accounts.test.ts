import { afterEach, beforeEach, expect, test } from 'vitest';
import type { NewUser } from '../../../control-plane/core/accounts/account-input.ts';
import { listExecutionIds } from '../../../control-plane/store/accounts/user-rows.ts';
import { application, service } from '../../support/fixtures/applications.ts';
import { CoordinatorRig, codeOf, seen } from '../../support/rigs/coordinator-rig.ts';
import { exited, gone, running } from '../../support/rigs/core-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

let rig: CoordinatorRig;
beforeEach(async () => {
  rig = await CoordinatorRig.open();
});
afterEach(() => rig.memory.close());

const bob: NewUser = {
  username: 'bob',
  email: '',
  roleId: 3,
  quotaId: 1,
  authSource: 'internal',
  priority: 0,
  enabled: true,
};
const usernames = async () =>
  (await rig.memory.query('SELECT username FROM users ORDER BY id')).map(({ username }) => username);

test('C50: users and quotas get the ids that the database assigned', async () => {
  const { coordinator } = rig;
  expect(await coordinator.changeAccounts({ kind: 'create-user', user: bob })).toEqual({ done: true, id: 2 });
  const quota = { name: 'small', concurrentExecutions: 1, memoryBytes: 0, cores: 0 };
  expect(await coordinator.changeAccounts({ kind: 'create-quota', quota })).toEqual({ done: true, id: 2 });
  expect(await codeOf(rig.submit(application(), 'run', 2))).toBe('fulfilled');
});

test('W105: a user is created together with the password', async () => {
  await rig.coordinator.changeAccounts({ kind: 'create-user', user: { ...bob, passwordHash: 'a hash' } });
  const made = await rig.memory.query('SELECT password_hash, credential_version FROM users WHERE id = 2');
  expect(made).toEqual([{ password_hash: 'a hash', credential_version: 1 }]);
});

test('C50: a change that the data refuse changes nothing, and does not affect its turn', async () => {
  const agent = await rig.agent().join();
  const [created, taken, submitted] = await Promise.all([
    rig.coordinator.changeAccounts({ kind: 'create-user', user: bob }),
    rig.coordinator.changeAccounts({ kind: 'create-user', user: bob }),
    codeOf(rig.submit()),
  ]);
  expect(created).toEqual({ done: true, id: 2 });
  expect(taken).toEqual({ done: false, why: 'taken' });
  expect(submitted).toBe('fulfilled');
  expect(await rig.coordinator.changeAccounts({ kind: 'delete-quota', id: 1 })).toEqual({
    done: false,
    why: 'refused',
  });
  expect(agent.socket.closeCode).toBeUndefined();
});

test('C50: a change that the database may not have made is not acknowledged, and the state is read again', async () => {
  await rig.coordinator.ready();
  const disable = { kind: 'update-user', id: 1, changes: { enabled: false } } as const;
  rig.db.failing = 'refused';
  expect(await codeOf(rig.coordinator.changeAccounts(disable))).toBe('unavailable');
  rig.db.failing = 'no';
  expect(await codeOf(rig.submit())).toBe('fulfilled');
  rig.db.failing = 'committed';
  expect(await codeOf(rig.coordinator.changeAccounts(disable))).toBe('unavailable');
  rig.db.failing = 'no';
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
  const commit = Promise.withResolvers<void>();
  rig.db.before = () => commit.promise;
  const commits = rig.db.batches.length;
  const early = rig.submit(application(), 'early', 2);
  await eventually(() => rig.db.batches.length > commits);
  const deleted = rig.coordinator.changeAccounts({ kind: 'delete-user', id: 2 });
  const late = codeOf(rig.submit(application(), 'late', 2));
  commit.resolve();
  await deleted;
  expect(await listExecutionIds(rig.memory, 2)).toEqual([await early]);
  expect(await late).toBe('unauthenticated');
});

test('C50: a service that starts after its user was renamed has the new name', async () => {
  const agent = await rig.agent().join();
  const named = service({ monitor: false, environment: [['WHO', '{user_name}']] });
  await rig.submit(application(service({ name: 'other' }), named));
  const [first, second] = [await agent.started(1), await agent.started(2)];
  const mine = first.name === 'web0' ? first : second;
  expect(mine.environment).toContainEqual(['WHO', 'alice']);
  await rig.coordinator.changeAccounts({ kind: 'update-user', id: 1, changes: { username: 'anna' } });
  await agent.reportAndWait(seen(mine, exited(1)), seen(mine, { state: 'gone' }));
  rig.clock.pass(1_000);
  rig.coordinator.wake();
  expect((await agent.started(3)).environment).toContainEqual(['WHO', 'anna']);
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
