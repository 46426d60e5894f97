/** Reads of services' logs and of executions that have ended, from rows alone. */
import { beforeEach, expect, test } from 'vitest';
import { newHost } from '../../../control-plane/core/model/host.ts';
import { FIRST_END, listEnded } from '../../../control-plane/store/cluster/history-rows.ts';
import { insertHost } from '../../../control-plane/store/cluster/host-rows.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { findLogLocation, listEndedSince } from '../../../control-plane/store/executions/executions.ts';
import { addExecutions, type ExecutionRow } from '../../support/fixtures/execution-rows.ts';
import { testDatabase } from '../../support/hosts/memory-database.ts';

let db: Db;
beforeEach(async () => {
  db = await testDatabase();
  await db.batch([insertHost(newHost(1, 'here', 0)), insertHost(newHost(2, 'gone:2', 0))]);
  await db.query("UPDATE hosts SET removed_ms = 200, removed_name = 'gone' WHERE id = 2");
});

const row = (id: number, changes: Partial<ExecutionRow> = {}): ExecutionRow => ({
  ...{ id, name: `e${id}`, userId: 1, status: 'running', submitMs: 1, startMs: 5, endMs: null },
  ...changes,
});
const addService = (id: number, hostId: number | null) =>
  db.query(
    `INSERT INTO services (id, execution_id, name, service_group, status, backend_status, host_id, placed, generation,
      ports, deaths_ms, forgotten) VALUES (?, ?, 's', 'g', 'active', 'running', ?, 1, 4, '[]', '[]', 0)`,
    [id, id, hostId],
  );

test('H46: the log of a service is where the service is or was, also if it was never placed', async () => {
  const ended = [row(2, { status: 'terminated' }), row(3, { status: 'error' })];
  await addExecutions(db, [row(1), ...ended, row(4), row(5)]);
  for (const [id, hostId] of [[1, 1] as const, [2, 2] as const, [4, null] as const])
    await addService(id, hostId);
  const nowhere = { generation: 0, hasEnded: false, hasHost: false, hostId: null, hostName: '' };
  const locations = await Promise.all([1, 2, 3, 5].map((id) => findLogLocation(db, id)));
  expect(locations).toEqual([
    { ...nowhere, executionId: 1, generation: 4, hostId: 1, hostName: 'here', hasHost: true },
    { ...nowhere, executionId: 2, generation: 4, hostId: 2, hostName: 'gone', hasEnded: true },
    { ...nowhere, executionId: 3, hasEnded: true },
    { ...nowhere, executionId: 5 },
  ]);
  const waiting = { executionId: 4, hostId: null, hasHost: false, hasEnded: false };
  expect(await findLogLocation(db, 4)).toMatchObject(waiting);
  expect([await findLogLocation(db, 6), await findLogLocation(db, 0)]).toEqual([null, null]);
});

test('C241: ended executions are listed by their ends, from a position on', async () => {
  const ended = (id: number, endMs: number) => row(id, { status: id % 2 ? 'error' : 'terminated', endMs });
  await addExecutions(db, [row(1), ended(2, 30), ended(3, 10), ended(4, 10), ended(5, 31), ended(6, 5)]);
  await db.query('UPDATE executions SET deleted = 1 WHERE id = 6');
  const list = async (position = FIRST_END, limit = 9) =>
    (await listEnded(db, position, { endMs: 30, limit })).map(({ id }) => id);
  expect(await list()).toEqual([3, 4, 2]);
  expect(await list(FIRST_END, 2)).toEqual([3, 4]);
  expect(await list({ endMs: 10, id: 3 })).toEqual([4, 2]);
  expect(await listEndedSince(db, 5)).toEqual([]);
  expect((await listEndedSince(db, 4)).toSorted()).toEqual([2, 3, 4, 5]);
});
