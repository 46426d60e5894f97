/** Owns the proof that grouped reads are run together, equal ones once, and are never older than a write before them. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { openEmbedded } from '../../../control-plane/store/db/embedded.ts';
import { groupReads } from '../../../control-plane/store/db/grouped-reads.ts';

const READ = 'SELECT number FROM numbers WHERE id = ? LIMIT 1';
const RAISE = 'UPDATE numbers SET number = number + 1 RETURNING number';

let below: Db;
let db: Db;
let queries: number;

beforeEach(async () => {
  below = await openEmbedded(':memory:');
  await below.batch([
    { sql: 'CREATE TABLE numbers (id INTEGER PRIMARY KEY, number INTEGER)', args: [] },
    { sql: 'INSERT INTO numbers VALUES (1, 10), (2, 20)', args: [] },
  ]);
  queries = 0;
  db = groupReads({
    query: (sql, args) => {
      queries += 1;
      return below.query(sql, args);
    },
    batch: (statements) => below.batch(statements),
    close: () => below.close(),
  });
});

afterEach(() => db.close());

test('equal reads of one turn ask the database once', async () => {
  const answers = await Promise.all([db.query(READ, [1]), db.query(READ, [1]), db.query(READ, [2])]);
  expect(answers).toEqual([[{ number: 10 }], [{ number: 10 }], [{ number: 20 }]]);
  expect(queries).toBe(2);
});

test('a read of a later turn asks again', async () => {
  await db.query(READ, [1]);
  await nextTurn();
  await below.batch([{ sql: 'UPDATE numbers SET number = 11', args: [] }]);
  expect(await db.query(READ, [1])).toEqual([{ number: 11 }]);
});

test('a read asked for after a write sees it', async () => {
  const write = db.batch([{ sql: 'UPDATE numbers SET number = 11', args: [] }]);
  const read = db.query(READ, [1]);
  await write;
  expect(await read).toEqual([{ number: 11 }]);
});

test('a query that writes is run each time, and seen by the next read', async () => {
  await db.query(READ, [1]);
  await Promise.all([db.query(RAISE), db.query(RAISE)]);
  expect(await db.query(READ, [1])).toEqual([{ number: 12 }]);
});

test('a read that fails tells each who asked, and no other', async () => {
  const failing = 'SELECT nothing FROM numbers LIMIT 1';
  const answers = await Promise.allSettled([db.query(failing), db.query(failing), db.query(READ, [1])]);
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
});

test('reads that wait are answered when the database is closed', async () => {
  const read = db.query(READ, [1]);
  await db.close();
  expect(await read).toEqual([{ number: 10 }]);
});
