/** Fills databases with ended executions by SQL alone: a million take half a minute. */
import { openEmbedded } from '../../control-plane/store/db/embedded.ts';
import { queuedApplication } from './application.ts';

const USERS = 50;
/** Time of the first submission. One submission per second follows. */
export const FIRST_MS = 1_700_000_000_000;
const STEP = 50_000;

/**
 * Adds users who cannot log in, with ids from 2 on, and `count` ended executions of one service each, on no
 * host, of these users. Every seventh has failed, and there are 1,000 names.
 */
export async function addHistory(databaseUrl: string, count: number): Promise<void> {
  const db = await openEmbedded(databaseUrl);
  await db.batch(Array.from({ length: USERS }, (_, n) => ({ sql: USER, args: [`user-${n}`] })));
  const description = JSON.stringify(queuedApplication());
  for (let first = 1; first <= count; first += STEP) {
    const last = Math.min(count, first + STEP - 1);
    await db.batch([
      { sql: EXECUTIONS, args: [first, last, description, FIRST_MS, FIRST_MS, FIRST_MS, description.length] },
      { sql: SERVICES, args: [first, last] },
    ]);
  }
  await db.close();
}

const USER = `INSERT INTO users (username, email, role_id, quota_id, auth_source, fs_uid, priority, enabled)
  SELECT ?, '', role_id, quota_id, auth_source, fs_uid, priority, 0 FROM users WHERE id = 1`;
const NUMBERS = 'WITH RECURSIVE n (id) AS (SELECT ? UNION ALL SELECT id + 1 FROM n WHERE id < ?)';
const EXECUTIONS = `${NUMBERS} INSERT INTO executions (id, name, user_id, description, status, deleted, error_message,
  time_submit_ms, time_start_ms, time_end_ms, attempts, first_service_id, service_count, size, demand,
  description_bytes)
  SELECT id, 'name-' || (id % 1000), 1 + id % ${USERS}, ?, iif(id % 7 = 1, 'error', 'terminated'), 0,
    iif(id % 7 = 1, 'failed', NULL), ? + id * 1000, ? + id * 1000 + 500, ? + id * 1000 + 60000, 0, id, 1, 0, '[]', ?
  FROM n`;
const SERVICES = `${NUMBERS} INSERT INTO services (id, execution_id, name, service_group, status, backend_status, placed,
  generation, ports, deaths_ms, forgotten)
  SELECT id, id, 'worker0', 'worker', 'inactive', 'destroyed', 0, 1, '[]', '[]', 1 FROM n`;
