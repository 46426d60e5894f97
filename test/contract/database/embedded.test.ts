/** The embedded database, beyond the common contract (control-plane/store/db/embedded.ts). */
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'libsql';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { type EmbeddedOptions, openEmbedded } from '../../../control-plane/store/db/embedded.ts';
import { StatementCache } from '../../../control-plane/store/db/statement-cache.ts';
import { testFolder } from '../../support/tools/test-folder.ts';

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await testFolder();
  path = join(folder, 'data', 'berth.db');
});

async function open(options?: EmbeddedOptions, url = pathToFileURL(path).href): Promise<Db> {
  const db = await openEmbedded(url, options);
  onTestFinished(() => db.close());
  return db;
}

/** Simulates another process: a separate connection that holds a lock until it is closed. */
function holdLock(mode: 'IMMEDIATE' | 'EXCLUSIVE'): Database.Database {
  const other = new Database(path);
  onTestFinished(() => void other.close());
  other.exec(`BEGIN ${mode}`);
  return other;
}

test('a relative URL is a path from the working directory; a missing folder and its file are created for this user only', async () => {
  await open({}, `file:${relative(process.cwd(), path)}`);
  expect((await stat(join(folder, 'data'))).mode & 0o777).toBe(0o700);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test('a commit is on the disk before it is acknowledged: WAL with synchronous=FULL', async () => {
  const db = await open();
  expect(await db.query('PRAGMA journal_mode')).toEqual([{ journal_mode: 'wal' }]);
  expect(await db.query('PRAGMA synchronous')).toEqual([{ synchronous: 2 }]);
});

test.each(['berth.db', 'http://127.0.0.1', 'file:berth.db?mode=ro', 'file://elsewhere/berth.db', ''])(
  'the URL "%s" is refused',
  async (url) => {
    await expect(open({}, url)).rejects.toMatchObject({ name: 'DatabaseError', kind: 'other' });
  },
);

test('an error for a path that cannot be opened names the path and the reason', async () => {
  await mkdir(path, { recursive: true });
  const message = expect.stringMatching(/^can't open the database .*berth\.db: EISDIR/);
  await expect(open()).rejects.toMatchObject({ name: 'DatabaseError', kind: 'unavailable', message });
});

test('a file that is not a database is refused and left unchanged', async () => {
  await mkdir(join(folder, 'data'));
  await writeFile(path, 'notes'.repeat(1_000));
  const message = expect.stringMatching(/file is not a database$/);
  await expect(open()).rejects.toMatchObject({ name: 'DatabaseError', message });
  expect((await stat(path)).size).toBe(5_000);
});

test('a new file that another process is using is opened once that process is done', async () => {
  await mkdir(join(folder, 'data'));
  const other = holdLock('EXCLUSIVE');
  const opening = open({ busyTimeoutMs: 100 });
  other.exec('COMMIT');
  expect(await (await opening).query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('H755: while another process writes, a batch waits without holding up this process, and then succeeds', async () => {
  const db = await open();
  await db.batch([{ sql: 'CREATE TABLE t (a)', args: [] }]);
  const other = holdLock('IMMEDIATE');
  const writing = Promise.all([
    db.batch([{ sql: 'INSERT INTO t VALUES (1)', args: [] }]),
    db.query('INSERT INTO t VALUES (2) RETURNING a'),
  ]);
  for (let turn = 0; turn < 100; turn++) {
    await new Promise(setImmediate);
    expect(await db.query('SELECT a FROM t')).toEqual([]);
  }
  other.exec('COMMIT');
  expect(await writing).toEqual([[1], [{ a: 2 }]]);
});

test('a batch is "unavailable" while another process writes, and succeeds afterwards; queries continue', async () => {
  const db = await open({ busyTimeoutMs: 20 });
  const create = [{ sql: 'CREATE TABLE hosts (id INTEGER)', args: [] }];
  const other = holdLock('IMMEDIATE');
  const locked = { kind: 'unavailable', message: 'database is locked' };
  await expect(db.batch(create)).rejects.toMatchObject(locked);
  expect(await db.query('SELECT count(*) AS tables FROM sqlite_master')).toEqual([{ tables: 0 }]);
  other.exec('COMMIT');
  await db.batch(create);
});

test('the statements that were used last are prepared once, as many as the cache has room for, until it is cleared', () => {
  const cache = new StatementCache(new Database(':memory:'), 2);
  const [one, two] = [cache.get('SELECT 1', 0), cache.get('SELECT 2', 0)];
  expect(cache.get('SELECT 1', 0)).toBe(one);
  cache.get('SELECT 3', 0);
  expect(cache.get('SELECT 1', 0)).toBe(one);
  expect(cache.get('SELECT 2', 0)).not.toBe(two);
  cache.clear();
  expect(cache.get('SELECT 1', 0)).not.toBe(one);
});

test('question marks in quotes and comments are not parameters, and a trigger is one statement', async () => {
  const db = await open();
  await db.batch([
    { sql: `CREATE TABLE "what?" (id INTEGER, note TEXT DEFAULT 'it''s; ?') /* ?; */ -- ?; x`, args: [] },
    { sql: 'CREATE TRIGGER t AFTER DELETE ON "what?" BEGIN SELECT 1; SELECT 2; END;', args: [] },
    { sql: 'INSERT INTO "what?" (id) VALUES (?); ', args: [1] },
  ]);
  expect(await db.query('SELECT * FROM "what?"')).toEqual([{ id: 1, note: "it's; ?" }]);
});
