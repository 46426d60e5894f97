/**
 * The limit of the group `http`: a minimal Hono server on the embedded database of Berth. A submission parses
 * the same body and inserts the same row, all submissions of a moment in one transaction; a read finds the
 * same row by its id. It authenticates nobody and decides nothing. Prints its port.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import * as z from 'zod';
import { newExecution } from '../../../control-plane/core/lifecycle/submission.ts';
import { insertExecution } from '../../../control-plane/store/cluster/execution-rows.ts';
import type { Statement } from '../../../control-plane/store/db/db.ts';
import { openEmbedded } from '../../../control-plane/store/db/embedded.ts';
import { groupAllReads } from '../../../control-plane/store/db/grouped-reads.ts';
import { findExecution } from '../../../control-plane/store/executions/executions.ts';
import { migrate } from '../../../control-plane/store/schema/migrate.ts';
import { migrations } from '../../../control-plane/store/schema/migrations.ts';
import { applicationSchema } from '../../../shared/application-schema.ts';
import { queuedApplication } from '../application.ts';

const submission = z.object({ name: z.string(), application: applicationSchema });
const INFO = {
  version: '0.1.0',
  deployment_name: 'plain',
  application_format_version: 3,
  api_version: '0.7',
};

const folder = mkdtempSync(join(tmpdir(), 'berth-plain-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
process.once('SIGTERM', () => process.exit(0));
const db = groupAllReads(await openEmbedded(`file:${join(folder, 'plain.db')}`));
await migrate(db, migrations);
await db.query(`INSERT INTO users (id, username, email, role_id, quota_id, auth_source, fs_uid, priority, enabled)
  VALUES (1, 'plain', '', 1, 1, 'internal', 1000, 0, 1)`);

/** All executions have the fields of this one, except for those of the submission. */
const template = newExecution(
  { execution: 1, service: 1, host: 1 },
  { userId: 1, name: '', application: queuedApplication(), description: JSON.stringify(queuedApplication()) },
  0,
);
let lastId = 0;
let waiting: { statement: Statement; done: () => void; fail: (error: unknown) => void }[] = [];

/** Resolves once the row is committed, together with those of the same moment. */
function insert(statement: Statement): Promise<void> {
  return new Promise((done, fail) => {
    waiting.push({ statement, done, fail });
    // As long as Berth waits for others.
    if (waiting.length === 1) setImmediate(() => setImmediate(commit));
  });
}

async function commit(): Promise<void> {
  const together = waiting;
  waiting = [];
  try {
    await db.batch(together.map(({ statement }) => statement));
    for (const { done } of together) done();
  } catch (error) {
    for (const { fail } of together) fail(error);
  }
}

const app = new Hono();
app.post('/execution', async (c) => {
  const { name, application } = submission.parse(await c.req.json());
  const id = ++lastId;
  const execution = { ...template, id, name, firstServiceId: id, timeSubmitMs: Date.now() };
  await insert(insertExecution(execution, JSON.stringify(application)));
  return c.json({ execution_id: id });
});
app.get('/execution/:id', async (c) => {
  const execution = await findExecution(db, Number(c.req.param('id')));
  return execution ? c.json({ ...execution, description: JSON.parse(execution.description) }) : c.notFound();
});
app.get('/info', (c) => c.json(INFO));
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => console.log(`port ${port}`));
