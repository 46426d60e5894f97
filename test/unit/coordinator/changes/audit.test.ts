/** The audit log of changes that the coordinator makes, and its reviews. */
import { beforeEach, expect, test } from 'vitest';
import type { KnownActor } from '../../../../control-plane/core/accounts/account.ts';
import { entryOf } from '../../../../control-plane/core/accounts/audit.ts';
import { DAY_MS } from '../../../../control-plane/core/lifecycle/retention.ts';
import { defaultSchedulerConfig } from '../../../../control-plane/core/model/scheduler-config.ts';
import { listAudit } from '../../../../control-plane/store/accounts/audit.ts';
import { findAccountByName } from '../../../../control-plane/store/accounts/users.ts';
import { application } from '../../../support/fixtures/descriptions.ts';
import { CoordinatorRig, codeOf } from '../../../support/rigs/coordinator-rig.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const ROWS = 100;

let rig: CoordinatorRig;
let actor: KnownActor;
beforeEach(async () => {
  rig = await CoordinatorRig.open({
    bounds: { ...defaultSchedulerConfig.bounds, auditRows: ROWS, auditDays: 1 },
  });
  rig.coordinator.wake();
  await rig.coordinator.ready();
  const account = await findAccountByName(rig.memory, 'alice');
  if (!account) throw new Error('the user alice is missing');
  const { user, role } = account;
  const origin = { requestId: 'r', address: 'a' };
  actor = { kind: 'user', credential: { by: 'password' }, user, role, origin };
});

const rows = () => listAudit(rig.memory, {}, 10_000);
const actions = async () => (await rows()).map(({ action, targetId }) => `${action} ${targetId}`);
const submit = (key?: string) =>
  rig.coordinator.submit(
    { userId: 1, name: 'run', application: application(), description: JSON.stringify(application()) },
    actor,
    key === undefined ? undefined : { key, digest: 'd' },
  );
const quota = { name: 'small', concurrentExecutions: 1, memoryBytes: 0, cores: 0 };
const create = () =>
  rig.coordinator.changeAccounts(
    { kind: 'create-quota', quota },
    { key: 'quota', digest: 'd', userId: 1 },
    entryOf(actor, { action: 'create-quota', targetName: 'small' }),
  );

test('C265: a change and its row are committed together, and a repeat by its key has none', async () => {
  const { id } = await submit('once');
  await submit('once');
  await rig.coordinator.terminate(id, actor);
  expect(await codeOf(rig.coordinator.terminate(id, actor))).toBe('conflict');
  expect(await create()).toEqual({ done: true, id: 2 });
  expect(await create()).toEqual({ done: true, id: 2, isRepeat: true });
  const made = [`submit-execution ${id}`, `terminate-execution ${id}`, 'create-quota 2'];
  expect((await actions()).reverse()).toEqual(made);
  expect((await rows())[0]).toMatchObject({ username: 'alice', requestId: 'r', address: 'a' });
});

test('C265: a commit that fails leaves neither, and one whose answer is lost leaves both', async () => {
  rig.db.failing = 'refused';
  expect([await codeOf(submit()), await codeOf(create())]).toEqual(['unavailable', 'unavailable']);
  rig.db.failing = 'no';
  expect(await actions()).toEqual([]);
  expect(await rig.codeWhile('committed', submit)).toBe('unavailable');
  await rig.coordinator.ready();
  expect(await actions()).toEqual(['submit-execution 1']);
});

test('C265: a change that the data refuse has no row, and its key stays free', async () => {
  const token = (name: string) =>
    rig.coordinator.changeAccounts(
      {
        ...{ kind: 'create-personal-token', maxPerUser: 1 },
        token: {
          ...{ userId: 1, credentialVersion: actor.user.credentialVersion, name, hash: name },
          ...{ scopes: ['read'], madeMs: 0, expiresMs: null },
        },
      },
      { key: name, digest: 'd', userId: 1 },
      entryOf(actor, { action: 'create-personal-token', targetName: name }),
    );
  expect(await token('first')).toEqual({ done: true, id: 1 });
  expect(await token('second')).toEqual({ done: false, why: 'refused' });
  expect(await actions()).toEqual(['create-personal-token 1']);
  expect(await rig.memory.query('SELECT key, made_id FROM idempotency_keys')).toEqual([
    { key: 'first', made_id: 1 },
  ]);
});

test("C265: an update of an agent is recorded with the host's name, and Berth's own changes are not", async () => {
  const agent = await rig.agent().join();
  await agent.reportAndWait();
  const release = { version: '9.0.0', sha256: '0'.repeat(64), signature: 'x'.repeat(86) };
  await rig.coordinator.updateAgent(1, release, entryOf(actor, { action: 'update-agent', targetId: 1 }));
  await rig.submit();
  expect(await rows()).toMatchObject([{ action: 'update-agent', targetId: 1, targetName: 'one' }]);
});

test('C266: a review removes rows whose days are over', async () => {
  await submit();
  rig.clock.pass(DAY_MS / 2);
  await create();
  rig.clock.pass(DAY_MS / 2 + 1);
  await eventually(async () => {
    rig.pass(60_000);
    return (await rows()).length === 1;
  });
  expect(await actions()).toEqual(['create-quota 2']);
});

test('C268: many new rows make a review due, so that the bound holds between the hourly ones', async () => {
  await create();
  const reviewed = async () => (await rig.coordinator.summary()).history.reviewedMs;
  await eventually(async () => {
    rig.pass(1_000);
    return (await reviewed()) !== null;
  });
  const first = await reviewed();
  for (let at = 0; at < ROWS; at++) await submit();
  await eventually(async () => {
    rig.pass(100);
    return (await reviewed()) !== first && (await rows()).length <= ROWS;
  });
  expect((await reviewed()) ?? 0).toBeLessThan((first ?? 0) + 3_600_000);
  expect((await rows()).length).toBeGreaterThan(ROWS - ROWS / 10);
});
