/** Reads of executions and their services, and what the reviews of the history remove, from rows alone. */
import { beforeEach, expect, test } from 'vitest';
import { FIRST_END, listEnded, removeExpired } from '../../../control-plane/store/cluster/history-rows.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { openEmbedded } from '../../../control-plane/store/db/embedded.ts';
import { claimEpoch } from '../../../control-plane/store/db/epoch.ts';
import {
  findExecution,
  findLogLocation,
  findService,
  findShortExecution,
  findShortService,
  findState,
  listActiveInstances,
  listEarlyEnds,
  listStarts,
} from '../../../control-plane/store/executions/executions.ts';
import { migrate } from '../../../control-plane/store/schema/migrate.ts';
import { migrations } from '../../../control-plane/store/schema/migrations.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { addExecutions, type ExecutionRow } from '../../support/fixtures/execution-rows.ts';

let db: Db;
const run = (sql: string) => db.query(sql);

beforeEach(async () => {
  db = await openEmbedded(':memory:');
  await migrate(db, migrations);
  await run(`INSERT INTO users (username, email, role_id, quota_id, auth_source, fs_uid, priority, enabled)
    VALUES ('ann', '', 1, 1, 'internal', 1000, 0, 1)`);
  const hosts = [
    [1, 'here', 'NULL', 'NULL'],
    [2, 'gone:2', 200, "'gone'"],
    [3, 'empty:3', 200, "'empty'"],
  ];
  for (const [id, name, removedMs, removedName] of hosts)
    await run(`INSERT INTO hosts (id, name, address, labels, memory_bytes, cores, schedulable, agent_version,
      engine_version, last_contact_ms, lost, removed_ms, removed_name)
      VALUES (${id}, '${name}', '10.0.0.${id}', '[]', 1, 1, 1, '', '', 0, 0, ${removedMs}, ${removedName})`);
});

const row = (id: number, changes: Partial<ExecutionRow> = {}): ExecutionRow => ({
  ...{ id, name: `e${id}`, userId: 1, status: 'running', submitMs: 1, startMs: 5, endMs: null },
  ...changes,
});
const addService = (id: number, hostId: number | null, changes: Record<string, string> = {}) => {
  const values = {
    ...{
      id: `${id}`,
      execution_id: `${id}`,
      name: `'s${id}'`,
      service_group: `'${service().name}'`,
      status: "'active'",
    },
    ...{ backend_status: "'running'", host_id: `${hostId ?? 'NULL'}`, placed: '1', generation: '4' },
    ...{ ports: "'[]'", deaths_ms: "'[]'", forgotten: '0' },
    ...changes,
  };
  return run(`INSERT INTO services (${Object.keys(values)}) VALUES (${Object.values(values)})`);
};

test('H46: the log of a service is where the service is or was, also if it was never placed', async () => {
  await addExecutions(db, [
    row(1),
    row(2, { status: 'terminated' }),
    row(3, { status: 'error' }),
    row(4),
    row(5),
  ]);
  await addService(1, 1);
  await addService(2, 2);
  await addService(4, null);
  const at = { generation: 4, hasEnded: false, hasHost: false };
  const nowhere = { ...at, generation: 0, hostId: null, hostName: '' };
  expect(await findLogLocation(db, 1)).toEqual({
    ...at,
    executionId: 1,
    hostId: 1,
    hostName: 'here',
    hasHost: true,
  });
  expect(await findLogLocation(db, 2)).toEqual({
    ...at,
    executionId: 2,
    hostId: 2,
    hostName: 'gone',
    hasEnded: true,
  });
  expect(await findLogLocation(db, 3)).toEqual({ ...nowhere, executionId: 3, hasEnded: true });
  expect(await findLogLocation(db, 4)).toMatchObject({
    executionId: 4,
    hostId: null,
    hasHost: false,
    hasEnded: false,
  });
  expect(await findLogLocation(db, 5)).toEqual({ ...nowhere, executionId: 5 });
  expect([await findLogLocation(db, 6), await findLogLocation(db, 0)]).toEqual([null, null]);
});

test('a service has its host as it is or was called, and one that waits has what its description gives it', async () => {
  await addExecutions(db, [row(1), row(2), row(3, { status: 'submitted', startMs: null }), row(4)]);
  await addService(1, 1);
  await addService(2, 2, { status: "'inactive'", restart_at_ms: '9', error_message: "'x'" });
  expect(await findService(db, 1)).toMatchObject({
    hostName: 'here',
    hostId: 1,
    name: 's1',
    restartAtMs: null,
  });
  expect(await findService(db, 2)).toMatchObject({
    hostName: 'gone',
    hostId: null,
    restartAtMs: 9,
    errorMessage: 'x',
  });
  expect(await findService(db, 3)).toMatchObject({
    id: 3,
    executionId: 3,
    status: 'inactive',
    hostName: null,
  });
  expect([await findService(db, 5), await findExecution(db, 5), await findState(db, 5)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  await run("UPDATE executions SET status = 'terminated' WHERE id = 2");
  expect(await findService(db, 2)).toMatchObject({ restartAtMs: null });
  await run('UPDATE executions SET deleted = 1');
  for (const id of [1, 3])
    expect([await findService(db, id), await findExecution(db, id), await findState(db, id)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
});

test('a description that is longer than wanted is not read', async () => {
  const description = application(service());
  const { length } = JSON.stringify(description);
  await addExecutions(db, [row(1), row(2)], description);
  await addService(1, 1);
  const long = { userId: 1, isLong: true };
  expect(await findShortExecution(db, 1, length)).toMatchObject({ id: 1, userName: 'ann', serviceIds: [1] });
  expect(await findShortExecution(db, 1, length - 1)).toEqual(long);
  for (const id of [1, 2]) {
    expect(await findShortService(db, id, length)).toMatchObject({ id });
    expect(await findShortService(db, id, length - 1)).toEqual(long);
  }
});

test('the active instances are those of the group, and the last starts come first', async () => {
  await addExecutions(db, [row(1), row(9)]);
  const of = { execution_id: '1' };
  const starts = (...times: number[]) => `'${JSON.stringify(times.map((startMs) => ({ startMs })))}'`;
  await addService(1, 1, { ...of, history: starts(5, 20) });
  await addService(2, 1, { ...of, service_group: "'h'", history: starts(10, 20) });
  await addService(3, 1, { ...of, status: "'inactive'" });
  await addService(9, 1, { history: starts(99) });
  expect(await listActiveInstances(db, 1, undefined)).toEqual(['s1', 's2']);
  expect(await listActiveInstances(db, 1, 'h')).toEqual(['s2']);
  expect(await listActiveInstances(db, 5, 'h')).toBeUndefined();
  const found = (await listStarts(db, 1, 3)).map(({ serviceId, startMs }) => [serviceId, startMs]);
  expect(found).toEqual([
    [2, 20],
    [1, 20],
    [2, 10],
  ]);
  await run('UPDATE executions SET deleted = 1');
  expect([await listStarts(db, 1, 3), await listActiveInstances(db, 1, 'h')]).toEqual([[], undefined]);
});

test('C241: ended executions are listed by their ends, from a position on', async () => {
  const ended = (id: number, endMs: number) => row(id, { status: id % 2 ? 'error' : 'terminated', endMs });
  await addExecutions(db, [row(1), ended(2, 30), ended(3, 10), ended(4, 10), ended(5, 31), ended(6, 5)]);
  await run('UPDATE executions SET deleted = 1 WHERE id = 6');
  const list = async (position = FIRST_END, limit = 9) =>
    (await listEnded(db, position, { endMs: 30, limit })).map(({ id }) => id);
  expect(await list()).toEqual([3, 4, 2]);
  expect(await list(FIRST_END, 2)).toEqual([3, 4]);
  expect(await list({ endMs: 10, id: 3 })).toEqual([4, 2]);
  expect(await listEarlyEnds(db, 5)).toEqual([]);
  expect((await listEarlyEnds(db, 4)).toSorted()).toEqual([2, 3, 4, 5]);
});

test('C244: what has expired goes, so many rows of a table at a time, and nothing else', async () => {
  await addExecutions(db, [row(1)]);
  await addService(1, 2);
  for (const [hash, expiresMs] of [
    ['a', 100],
    ['b', 100],
    ['c', 101],
  ]) {
    await run(
      `INSERT INTO sessions (token_hash, user_id, credential_version, expires_ms) VALUES ('${hash}', 1, 0, ${expiresMs})`,
    );
    await run(`INSERT INTO tokens (id_hash, kind, grant_hash, user_id, credential_version, expires_ms)
      VALUES ('${hash}', 'refresh', '${hash}', 1, 0, ${expiresMs})`);
    await run(`INSERT INTO join_tokens (hash, labels, expires_ms) VALUES ('${hash}', '[]', ${expiresMs})`);
  }
  const epoch = await claimEpoch(db, { name: 'one', hasHeld: false });
  const expire = async (limit: number, removedMs: number | null) => {
    const expiry = { nowMs: 100, forgetMs: 0, removedMs, auditMs: null, auditRows: 9 };
    const { sessions, tokens, joinTokens, hosts } = await removeExpired(db, epoch, expiry, limit);
    return [sessions, tokens, joinTokens, hosts];
  };
  expect(await expire(1, null)).toEqual([1, 1, 1, 0]);
  expect(await expire(9, 199)).toEqual([1, 1, 1, 0]);
  expect(await expire(9, 200)).toEqual([0, 0, 0, 1]);
  expect((await run('SELECT id FROM hosts ORDER BY id')).map(({ id }) => id)).toEqual([1, 2]);
});
