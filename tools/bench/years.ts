/** Fills a database with a long history by SQL alone: a million ended executions take half a minute. */
import { openEmbedded } from '../../control-plane/store/db/embedded.ts';
import { queuedApplication } from './application.ts';
import { FIRST_MS, USERS } from './many.ts';

const STEP = 50_000;

/** Time of the last submission of `addYears`: one submission per second. */
export const lastSubmitMs = (count: number): number => FIRST_MS + count * 1_000;

/**
 * Adds `count` ended executions of one service each, on no host, of the users of `addUsers`. Every seventh
 * has failed, and there are 1,000 names. Written to the file while no control plane has it open.
 */
export async function addYears(databaseUrl: string, count: number): Promise<void> {
  const db = await openEmbedded(databaseUrl);
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
