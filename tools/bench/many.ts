/** Fills databases with many executions directly, without the control plane. */
import { openEmbedded } from '../../control-plane/store/db/embedded.ts';
import { addExecutions, type ExecutionRow } from '../../test/support/fixtures/execution-rows.ts';
import { queuedApplication } from './application.ts';

export const USERS = 50;
/** Time of the first submission. One submission per second follows. */
export const FIRST_MS = 1_700_000_000_000;

/** Adds users who cannot log in, with ids from 2 on. */
export async function addUsers(databaseUrl: string): Promise<void> {
  const db = await openEmbedded(databaseUrl);
  const sql = `INSERT INTO users (username, email, role_id, quota_id, auth_source, fs_uid, priority, enabled)
    SELECT ?, '', role_id, quota_id, auth_source, fs_uid, priority, 0 FROM users WHERE id = 1`;
  await db.batch(Array.from({ length: USERS }, (_, n) => ({ sql, args: [`user-${n}`] })));
  await db.close();
}

/** Adds ended executions with the ids from `first` to `last` and one service each. */
export async function addMany(databaseUrl: string, first: number, last: number): Promise<void> {
  const db = await openEmbedded(databaseUrl);
  const rows = Array.from({ length: last - first + 1 }, (_, n) => rowOf(first + n));
  await addExecutions(db, rows, queuedApplication());
  const services = `INSERT INTO services (execution_id, name, service_group, status, backend_status, placed, generation, ports,
    deaths_ms, forgotten) SELECT id, 'worker0', 'worker', 'inactive', 'destroyed', 0, 1, '[]', '[]', 0 FROM executions
    WHERE id BETWEEN ? AND ?`;
  await db.batch([{ sql: services, args: [first, last] }]);
  await db.close();
}

function rowOf(id: number): ExecutionRow {
  const submitMs = FIRST_MS + id * 1_000;
  return {
    id,
    name: `name-${id % 1_000}`,
    userId: 1 + (id % USERS),
    status: id % 7 === 1 ? 'error' : 'terminated',
    submitMs,
    startMs: submitMs + 500,
    endMs: submitMs + 60_000,
  };
}
