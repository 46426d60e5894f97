/** Contract of the database port (control-plane/store/db/db.ts), for every adapter. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Argument, Db, Statement, Value } from '../../../control-plane/store/db/db.ts';
import {
  databaseKinds,
  emptyDatabase,
  lastingKinds,
  type TestDatabase,
} from '../../support/hosts/databases.ts';

const sql = (text: string, ...args: Argument[]): Statement => ({ sql: text, args });

let place: TestDatabase;
let db: Db;

async function openWithTables(kind: (typeof databaseKinds)[number]): Promise<void> {
  place = await emptyDatabase(kind);
  db = await place.open();
  await db.batch([
    sql(`CREATE TABLE users (
      id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, coins INTEGER CHECK (coins >= 0), ratio REAL)`),
    sql('CREATE TABLE tokens (owner INTEGER REFERENCES users (id) ON DELETE CASCADE, text TEXT)'),
    sql('CREATE TABLE later (owner INTEGER REFERENCES users (id) DEFERRABLE INITIALLY DEFERRED)'),
  ]);
}

const names = async () => (await db.query('SELECT name FROM users ORDER BY id')).map((row) => row.name);

describe.each(databaseKinds)('Db on %s', (kind) => {
  beforeEach(() => openWithTables(kind));
  afterEach(() => place.remove());

  test('a batch applies its statements in order', async () => {
    await db.batch([
      sql('INSERT INTO users (name, coins) VALUES (?, ?)', 'ann', 1),
      sql('UPDATE users SET coins = coins + 1 WHERE name = ?', 'ann'),
      sql('UPDATE users SET coins = coins * 10 WHERE name = ?', 'ann'),
    ]);
    expect(await db.query('SELECT name, coins FROM users')).toEqual([{ name: 'ann', coins: 20 }]);
    expect(await db.batch([])).toEqual([]);
  });

  test('a batch resolves to the rows that each statement affected, without those of cascades', async () => {
    const affected = await db.batch([
      sql('INSERT INTO users (name) VALUES (?), (?), (?)', 'ann', 'bob', 'cid'),
      sql('INSERT INTO tokens (owner) SELECT id FROM users'),
      sql('UPDATE users SET coins = 1 WHERE name <> ?', 'ann'),
      sql('UPDATE users SET coins = 1 WHERE name = ?', 'nobody'),
      sql('INSERT INTO users (name) VALUES (?) ON CONFLICT DO NOTHING', 'ann'),
      sql('SELECT * FROM users'),
      sql('UPDATE users SET coins = 2 RETURNING id'),
      sql('DELETE FROM users WHERE name = ?', 'cid'),
      sql('CREATE INDEX by_coins ON users (coins)'),
    ]);
    expect(affected).toEqual([3, 3, 2, 0, 0, 0, 3, 1, 0]);
  });

  test('a batch of 2,000 statements is one transaction', async () => {
    const affected = await db.batch(
      Array.from({ length: 2_000 }, (_, n) => sql('INSERT INTO users (name) VALUES (?)', `user${n}`)),
    );
    expect(affected).toHaveLength(2_000);
    expect(await db.query('SELECT count(*) AS n FROM users')).toEqual([{ n: 2_000 }]);
  });

  test.each([
    ['unique', sql('INSERT INTO users (name) VALUES (?)', 'ann'), 'UNIQUE constraint failed: users.name'],
    ['check', sql('UPDATE users SET coins = -1'), 'CHECK constraint failed'],
    ['not null', sql('UPDATE users SET name = ?', null), 'NOT NULL constraint failed: users.name'],
    ['foreign key', sql('INSERT INTO tokens (owner) VALUES (99)'), 'FOREIGN KEY constraint failed'],
    [
      'deferred key, found by the commit',
      sql('INSERT INTO later VALUES (99)'),
      'FOREIGN KEY constraint failed',
    ],
  ])(
    'a query or a batch that violates a constraint (%s) is undone completely, its error names the constraint, and the next one works',
    async (_, offending, message) => {
      const add = (name: string) => sql('INSERT INTO users (name) VALUES (?)', name);
      await db.batch([add('ann')]);
      const error = { name: 'DatabaseError', kind: 'constraint', cause: expect.any(Error) };
      const named = { ...error, message: expect.stringMatching(`^${message}`) };
      await expect(db.query(offending.sql, offending.args)).rejects.toMatchObject(named);
      await expect(db.batch([add('bob'), offending, add('cid')])).rejects.toMatchObject(named);
      expect(await names()).toEqual(['ann']);
      await db.batch([add('dan')]);
      expect(await names()).toEqual(['ann', 'dan']);
    },
  );

  test.each([
    ['invalid SQL', sql('SELEC 1')],
    ['an unknown table', sql('SELECT * FROM nowhere')],
    ['a missing value', sql('SELECT ? AS a, ? AS b', 1)],
    ['a value too many', sql("SELECT ? AS a, '?' AS b -- ?", 1, 2)],
    ['a second statement', sql('SELECT 1; SELECT 2')],
    ['an empty text', sql('')],
    ['not a number', sql('SELECT ? AS a', Number.NaN)],
    ['an integer past 2^53', sql('SELECT ? AS a', 2 ** 53)],
    ['a boolean', sql('SELECT ? AS a', true as unknown as Value)],
  ])('%s is an error of kind "other", in a query and in a batch', async (_, statement) => {
    const error = { name: 'DatabaseError', kind: 'other' };
    await expect(db.query(statement.sql, statement.args)).rejects.toMatchObject(error);
    const batch = db.batch([sql('INSERT INTO users (name) VALUES (1)'), statement]);
    await expect(batch).rejects.toMatchObject(error);
    expect(await names()).toEqual([]);
  });

  test('a query that writes is committed and returns the rows of RETURNING', async () => {
    const insert = 'INSERT INTO users (name) VALUES (?) RETURNING id, name';
    expect(await db.query(insert, ['ann'])).toEqual([{ id: 1, name: 'ann' }]);
    await db.batch([sql('UPDATE users SET coins = 1')]);
    expect(await names()).toEqual(['ann']);
  });

  test('values are read as they were written, and of two columns with the same name the last one counts', async () => {
    const values = [0, -1, 2 ** 53 - 1, -(2 ** 53) + 1, 0.1, -1e-9, '', 'é 😀 \u202e\n', '7', null] as const;
    const columns = values.map((_, n) => `? AS c${n}`).join(', ');
    const [row] = await db.query(`SELECT ${columns}`, values);
    expect(Object.values(row ?? {})).toEqual(values);
    expect(await db.query('SELECT 1 AS a, 2 AS a')).toEqual([{ a: 2 }]);
  });

  test('an integer is an integer to SQL, and a real column holds whole numbers', async () => {
    await db.batch([sql('INSERT INTO users (name, coins, ratio) VALUES (?, ?, ?)', 'ann', 7, 2)]);
    const rows = await db.query(
      "SELECT ratio, typeof(coins) AS type, coins || '' AS text, ? || '' AS bound FROM users",
      [7],
    );
    expect(rows).toEqual([{ ratio: 2, type: 'integer', text: '7', bound: '7' }]);
  });

  test('a text of 1 MiB is stored', async () => {
    const text = 'äx'.repeat(2 ** 19);
    await db.batch([sql('INSERT INTO tokens (text) VALUES (?)', text)]);
    const [row] = await db.query('SELECT text FROM tokens WHERE text = ?', [text]);
    expect(row?.text === text).toBe(true);
  });

  test('bytes of UTF-8 that are cast to text are read as a text', async () => {
    const text = JSON.stringify({ name: 'Ä 😀', command: '\\"\n'.repeat(100_000) });
    await db.batch([
      sql('INSERT INTO users (name) VALUES (CAST(? AS TEXT))', new TextEncoder().encode(text)),
    ]);
    expect(await db.query('SELECT name, typeof(name) AS type FROM users')).toEqual([
      { name: text, type: 'text' },
    ]);
  });

  test('unsupported text (NUL, lone surrogates) becomes U+FFFD, and the same text finds it', async () => {
    await db.batch([sql('INSERT INTO tokens (text) VALUES (?)', 'a\0b\ud800c')]);
    expect(await db.query('SELECT text FROM tokens WHERE text = ?', ['a\0b\ud800c'])).toEqual([
      { text: 'a\ufffdb\ufffdc' },
    ]);
  });

  test('10,000 rows are read in order', async () => {
    const rows = await db.query(
      'WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < ?) SELECT n FROM r',
      [10_000],
    );
    expect(rows.map((row) => row.n)).toEqual(Array.from({ length: 10_000 }, (_, n) => n + 1));
  });

  test('a repeated query sees columns that were added meanwhile', async () => {
    const all = 'SELECT * FROM later';
    await db.batch([sql('INSERT INTO later VALUES (NULL)')]);
    expect(await db.query(all)).toEqual([{ owner: null }]);
    await db.batch([sql("ALTER TABLE later ADD COLUMN note TEXT DEFAULT 'new'")]);
    expect(await db.query(all)).toEqual([{ owner: null, note: 'new' }]);
  });

  test('queries that run during batches see each batch completely or not at all', async () => {
    await db.batch([sql("INSERT INTO users (name, coins) VALUES ('ann', 50), ('bob', 50)")]);
    const move = () =>
      db.batch([
        sql("UPDATE users SET coins = coins - 1 WHERE name = 'ann'"),
        sql("UPDATE users SET coins = coins + 1 WHERE name = 'bob'"),
      ]);
    const read = () => db.query('SELECT sum(coins) AS sum FROM users');
    const seen = await Promise.all(Array.from({ length: 50 }, () => Promise.all([move(), read()])));
    expect(new Set(seen.map(([, rows]) => rows[0]?.sum))).toEqual(new Set([100]));
    expect(await db.query('SELECT coins FROM users ORDER BY name')).toEqual([{ coins: 0 }, { coins: 100 }]);
  });

  test('close waits for a running batch; a closed database refuses every call except a second close', async () => {
    const batch = db.batch([sql('INSERT INTO users (name) VALUES (?)', 'ann')]);
    await db.close();
    await expect(batch).resolves.toEqual([1]);
    await db.close();
    const error = { name: 'DatabaseError', kind: 'other', message: 'the database is closed' };
    await expect(db.query('SELECT 1')).rejects.toMatchObject(error);
    await expect(db.batch([sql('DELETE FROM users')])).rejects.toMatchObject(error);
  });
});

describe.each(lastingKinds)('Db on %s, opened again', (kind) => {
  beforeEach(() => openWithTables(kind));
  afterEach(() => place.remove());

  test('connections see the commits of others, also after a close, and assigned ids are not assigned again', async () => {
    const other = await place.open();
    await db.batch([
      sql("INSERT INTO users (name) VALUES ('ann'), ('bob')"),
      sql('DELETE FROM users WHERE id = 2'),
    ]);
    await db.close();
    db = await place.open();
    await other.batch([sql('INSERT INTO users (name) VALUES (?)', 'cid')]);
    expect(await db.query('SELECT id, name FROM users ORDER BY id')).toEqual([
      { id: 1, name: 'ann' },
      { id: 3, name: 'cid' },
    ]);
  });
});
