import { Hono } from 'hono';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { Coordinator } from '../../../control-plane/coordinator/coordinator.ts';
import { idCode } from '../../../control-plane/coordinator/runtime/id-code.ts';
import { nodeClock } from '../../../control-plane/coordinator/runtime/node-clock.ts';
import { defaultSchedulerConfig } from '../../../control-plane/core/model/scheduler-config.ts';
import { ReadTurns } from '../../../control-plane/guard/read-turns.ts';
import { executionRoutes } from '../../../control-plane/http/api/executions.ts';
import type { ApiDeps } from '../../../control-plane/http/api/route.ts';
import type { Env } from '../../../control-plane/http/request.ts';
import { variants } from '../../../control-plane/http/variants/choose.ts';
import { prepareDatabase } from '../../../control-plane/prepare.ts';
import { findAccountByName } from '../../../control-plane/store/accounts/users.ts';
import { DatabaseError, type Db, type Row } from '../../../control-plane/store/db/db.ts';
import { openEmbedded } from '../../../control-plane/store/db/embedded.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { eventually } from '../../support/tools/eventually.ts';

/** Events in the middle of a list, which no client can time: the routes alone, with a real database. */
let db: Db;
let duringList: (rows: Row[]) => Promise<Row[]>;
/** Called before a whole execution is read, whatever the length of its description. */
let beforeRead: () => Promise<void>;
let submit: () => Promise<number>;
let app: Hono<Env>;
let clock: ReturnType<typeof nodeClock>;

beforeEach(async () => {
  db = await openEmbedded(':memory:');
  await prepareDatabase(db, () => {}, { configured: 'secret words', minLength: 10 }, 0);
  const account = await findAccountByName(db, 'admin');
  if (!account) throw new Error('the administrator is missing');
  clock = nodeClock(() => coordinator.wake());
  const coordinator = new Coordinator({
    db,
    clock,
    log: () => {},
    idCode,
    deploymentName: 'test',
    scheduling: defaultSchedulerConfig,
  });
  const described = application(service());
  const submission = { name: 'x', application: described, description: JSON.stringify(described) };
  submit = async () => (await coordinator.submit({ userId: account.user.id, ...submission })).id;
  await submit();
  const watched: Db = {
    query: async (sql, args) => {
      if (sql.includes('e.description,') && sql.endsWith('LIMIT 1')) await beforeRead();
      const rows = await db.query(sql, args);
      return sql.includes('octet_length(description)') ? duringList(rows) : rows;
    },
    batch: (statements) => db.batch(statements),
    batchRows: (statements) => db.batchRows(statements),
    close: () => db.close(),
  };
  app = new Hono<Env>();
  app.use(async (c, next) => {
    c.set('actor', { kind: 'user', credential: { by: 'password' }, ...account });
    await next();
  });
  const deps = {
    db: watched,
    coordinator,
    turns: new ReadTurns(() => Date.now()),
    nowMs: () => Date.now(),
    variant: variants.B,
  } as unknown as ApiDeps;
  for (const { method, path, handle } of executionRoutes(variants.B))
    if (method === 'get') app.get(path, (c) => handle(c, deps));
  app.onError((error) => new Response(String(error), { status: 503 }));
});

afterEach(async () => {
  clock.stop();
  await db.close();
});

test('H33: executions that are deleted while earlier ones are read are not in the list', async () => {
  const long = JSON.stringify(application(service({ command: 'x'.repeat(700_000) })));
  await submit();
  await db.query('UPDATE executions SET description = ?', [long]);
  duringList = async (rows) => {
    await db.query('UPDATE executions SET deleted = 1 WHERE id = 2');
    return rows;
  };
  const list = JSON.parse(await (await app.request('/execution')).text());
  expect(Object.keys(list)).toEqual(['1']);
});

test('H61: a list that cannot be read is an error, and not a success that is cut off', async () => {
  duringList = async () => {
    throw new DatabaseError('unavailable', 'away');
  };
  expect((await app.request('/execution')).status).toBe(503);
});

test('H380: a user has 16 long lists open; one that nobody reads gives way after a minute', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  await submit();
  duringList = async (rows) => rows;
  const long = JSON.stringify(application(service({ command: 'x'.repeat(70_000) })));
  await db.query('UPDATE executions SET description = ?', [long]);
  const open = await Promise.all(Array.from({ length: 16 }, () => app.request('/execution')));
  expect(await (await app.request('/execution')).text()).toContain('At most 16 long lists of a user');
  await open[0]?.body?.cancel();
  expect((await app.request('/execution')).status).toBe(200);
  expect((await app.request('/execution')).status).toBe(503);
  vi.advanceTimersByTime(60_000);
  expect(await (await app.request('/execution')).text()).toContain('xxx');
  await expect(open[1]?.text()).rejects.toThrow('has not read for a minute');
});

test('H380: a list whose first page alone is short counts from its first long page on', async () => {
  await submit();
  await submit();
  duringList = async (rows) => rows;
  const long = JSON.stringify(application(service({ command: 'x'.repeat(1_100_000) })));
  await db.query('UPDATE executions SET description = ? WHERE id = 2', [long]);
  const readTwo = async () => {
    const reader = (await app.request('/execution')).body?.getReader();
    await reader?.read();
    await reader?.read();
  };
  for (let at = 0; at < 16; at++) await readTwo();
  await expect(readTwo()).rejects.toThrow('At most 16 long lists of a user');
});

test('H380: a user has two long descriptions read at a time, and short ones at once', async () => {
  const long = JSON.stringify(application(service({ command: 'x'.repeat(70_000) })));
  const ids = [await submit(), await submit(), await submit()];
  await db.query('UPDATE executions SET description = ? WHERE id > 1', [long]);
  const reads: (() => void)[] = [];
  beforeRead = () => new Promise((resolve) => reads.push(resolve));
  const answers = ids.map((id) => app.request(`/execution/${id}`));
  await eventually(() => reads.length === 2);
  expect((await app.request('/execution/1')).status).toBe(200);
  expect(reads).toHaveLength(2);
  reads[0]?.();
  await eventually(() => reads.length === 3);
  for (const read of reads) read();
  for (const answer of await Promise.all(answers))
    expect(await answer.json()).toMatchObject({ description: JSON.parse(long) });
});
