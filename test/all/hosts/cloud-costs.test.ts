/** What one execution sends: the Worker's code, the coordinator, a real agent, and a real libSQL server. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { execution } from '../../support/costs/counts.ts';
import { MeteredBerth } from '../../support/costs/metered-berth.ts';
import { startRowMeter } from '../../support/costs/row-meter.ts';
import type { FakeEngine } from '../../support/engines/fake-engine.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { openDatabase } from '../../support/hosts/databases.ts';
import { type Sqld, startSqld } from '../../support/hosts/sqld.ts';
import { eventually } from '../../support/tools/eventually.ts';
import { suiteFolder } from '../../support/tools/test-folder.ts';

let sqld: Sqld;
let meter: Awaited<ReturnType<typeof startRowMeter>>;
let db: Db;
const folder = suiteFolder();
let berth: MeteredBerth;
let engine: FakeEngine;
beforeAll(async () => {
  sqld = await startSqld();
  meter = await startRowMeter(sqld.url);
  db = await openDatabase(meter.url);
  berth = await MeteredBerth.open(db, folder);
  engine = await berth.addHost('one');
});
afterAll(async () => {
  await berth.close();
  await db.close();
  meter.close();
  await sqld.stop();
});

const used = () => ({ ...berth.metered, rowsRead: meter.rows.read, rowsWritten: meter.rows.written });
const running = () => [...engine.containers.values()].find(({ state }) => state === 'running');

/** Submits, reads three times and deletes. Waiting for a state uses the database itself, beside the meter. */
async function runOne(): Promise<void> {
  const body = { name: 'run', application: application(service()) };
  const { execution_id: id } = (await berth.request('POST', 'execution', body)) as { execution_id: number };
  await eventually(running);
  await berth.request('GET', `execution/${id}`);
  const container = running();
  if (container) engine.exit(container.id, 0);
  const direct = await openDatabase(sqld.url);
  const statusIs = (status: string | undefined) =>
    eventually(async () => {
      const [row] = await direct.query('SELECT status FROM executions WHERE id = ?', [id]);
      return row?.status === status;
    });
  await statusIs('terminated');
  for (let n = 0; n < 2; n++) await berth.request('GET', `execution/${id}`);
  await berth.request('DELETE', `execution/delete/${id}`);
  await statusIs(undefined);
  await direct.close();
}

test('H401: an execution takes at most as many requests, messages and rows as the formula counts, and not much less', async () => {
  // The first one makes what later ones find.
  await runOne();
  const before = used();
  const RUNS = 5;
  for (let n = 0; n < RUNS; n++) await runOne();
  const after = used();
  for (const [name, count] of Object.entries(execution)) {
    const each = (after[name as keyof typeof after] - before[name as keyof typeof before]) / RUNS;
    expect(each, name).toBeLessThanOrEqual(count);
    expect(each, name).toBeGreaterThanOrEqual(count / 2);
  }
});
