/** Grouped reads: reads run together, equal ones once, and never miss a write before them. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, expect, test } from 'vitest';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { openEmbedded } from '../../../control-plane/store/db/embedded.ts';
import { groupAllReads } from '../../../control-plane/store/db/grouped-reads.ts';
import { FaultyDb } from '../../support/hosts/memory-database.ts';

const READ = 'SELECT number FROM numbers WHERE id = ? LIMIT 1';
const RAISE = 'UPDATE numbers SET number = number + 1 RETURNING number';

let database: Db;
let db: Db;
let queries: number;

beforeEach(async () => {
  database = await openEmbedded(':memory:');
  await database.batch([
    { sql: 'CREATE TABLE numbers (id INTEGER PRIMARY KEY, number INTEGER)', args: [] },
    { sql: 'INSERT INTO numbers VALUES (1, 10), (2, 20)', args: [] },
  ]);
  queries = 0;
  const counting = new FaultyDb(database);
  counting.afterQuery = () => void queries++;
  db = groupAllReads(counting);
  return () => db.close();
});

test('equal reads of one turn are one query of the database', async () => {
  const answers = await Promise.all([db.query(READ, [1]), db.query(READ, [1]), db.query(READ, [2])]);
  expect(answers).toEqual([[{ number: 10 }], [{ number: 10 }], [{ number: 20 }]]);
  expect(queries).toBe(2);
});

test('a read of a later turn is a new query, and one that follows a write sees it', async () => {
  await db.query(READ, [1]);
  await nextTurn();
  await database.batch([{ sql: 'UPDATE numbers SET number = 12', args: [] }]);
  expect(await db.query(READ, [1])).toEqual([{ number: 12 }]);
  const write = db.batch([{ sql: 'UPDATE numbers SET number = 11', args: [] }]);
  const read = db.query(READ, [1]);
  await write;
  expect(await read).toEqual([{ number: 11 }]);
});

test('a query that writes runs each time, and the next read sees it', async () => {
  await db.query(READ, [1]);
  await Promise.all([db.query(RAISE), db.query(RAISE)]);
  expect(await db.query(READ, [1])).toEqual([{ number: 12 }]);
});

test('a read that fails rejects for each of its callers, and for no other', async () => {
  const failing = 'SELECT nothing FROM numbers LIMIT 1';
  const answers = await Promise.allSettled([db.query(failing), db.query(failing), db.query(READ, [1])]);
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
});

test('waiting reads are answered when the database is closed', async () => {
  const read = db.query(READ, [1]);
  await db.close();
  expect(await read).toEqual([{ number: 10 }]);
});
