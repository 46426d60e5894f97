/** The history on real databases: space is given back or used again. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import Database from 'libsql';
import { expect, onTestFinished, test } from 'vitest';
import { writeCopy } from '../../../control-plane/local/database-copy.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { openEmbedded } from '../../../control-plane/store/db/embedded.ts';
import { groupAllReads } from '../../../control-plane/store/db/grouped-reads.ts';
import { compact } from '../../../control-plane/store/schema/compaction.ts';
import { emptyDatabase, type TestDatabase } from '../../support/hosts/databases.ts';
import { testFolder } from '../../support/tools/test-folder.ts';

const ROWS = 4_000;

async function empty(kind: 'file' | 'sqld on workerd'): Promise<{ place: TestDatabase; db: Db }> {
  const place = await emptyDatabase(kind);
  onTestFinished(() => place.remove());
  return { place, db: await place.open() };
}

async function fill(db: Db): Promise<void> {
  await db.query('CREATE TABLE history (id INTEGER PRIMARY KEY, text TEXT)');
  await refill(db);
}

const refill = (db: Db) =>
  db.query(
    `INSERT INTO history (text) SELECT hex(zeroblob(1000)) FROM
      (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS}) SELECT i FROM n)`,
  );

const pragma = async (db: Db, name: string) =>
  Number(Object.values((await db.query(`PRAGMA ${name}`))[0] ?? {})[0]);

test('C245: an embedded file gives its unused pages back in steps, but for a twentieth', async () => {
  const { place, db } = await empty('file');
  await fill(db);
  await db.query('DELETE FROM history WHERE id <= ?', [ROWS / 2]);
  await db.query('PRAGMA wal_checkpoint(TRUNCATE)');
  const path = fileURLToPath(place.url);
  const before = (await stat(path)).size;
  const grouped = groupAllReads(db);
  const steps: number[] = [];
  for (let freed = 1; freed > 0; ) {
    freed = (await grouped.shrink?.(100)) ?? 0;
    steps.push(freed);
  }
  expect(steps.slice(0, -2)).toEqual(steps.slice(0, -2).map(() => 100));
  const pages = await pragma(db, 'page_count');
  const unused = await pragma(db, 'freelist_count');
  expect(unused / pages).toBeGreaterThan(0.03);
  expect(unused / pages).toBeLessThan(0.12);
  await db.query('PRAGMA wal_checkpoint(TRUNCATE)');
  expect((await stat(path)).size / before).toBeLessThan(0.65);
  expect(await db.query('SELECT count(*) AS rows FROM history')).toEqual([{ rows: ROWS / 2 }]);
  expect(await pragma(db, 'integrity_check').catch(() => 'damaged')).not.toBe('damaged');
});

/** A file without the mode that gives pages back. */
async function earlier(): Promise<{ db: Db; folder: string; path: string }> {
  const folder = await testFolder();
  const path = join(folder, 'berth.db');
  const connection = new Database(path);
  connection.exec('CREATE TABLE kept (text TEXT)');
  connection.close();
  const db = await openEmbedded(pathToFileURL(path).href);
  onTestFinished(() => db.close());
  await fill(db);
  return { db, folder, path };
}

test('C245: a file from an earlier version is written anew at a start, and can shrink from then on', async () => {
  const { db } = await earlier();
  expect(await db.shrink?.(100)).toBe(0);
  expect(await compact(db)).toMatchObject({ outcome: 'done' });
  expect(await compact(db)).toBeUndefined();
  await db.query('DELETE FROM history');
  expect(await db.shrink?.(100)).toBe(100);
});

test('C245: a file from an earlier version is left as it is if it is too large, and its backup can shrink', async () => {
  const { db, folder } = await earlier();
  expect(await compact(db, 100_000)).toMatchObject({ outcome: 'too large' });
  await db.query('DELETE FROM history WHERE id > 1000');
  expect(await db.shrink?.(100)).toBe(0);
  const path = join(folder, 'copy.db');
  await writeCopy(db, path);
  const copy = await openEmbedded(pathToFileURL(path).href);
  onTestFinished(() => copy.close());
  await copy.query('DELETE FROM history');
  expect(await copy.shrink?.(100)).toBe(100);
});

test('C245: a file from an earlier version is left as it is while another process uses it', async () => {
  const { path, db: first } = await earlier();
  await first.close();
  const db = await openEmbedded(pathToFileURL(path).href, { busyTimeoutMs: 10 });
  onTestFinished(() => db.close());
  const other = new Database(path);
  onTestFinished(() => void other.close());
  other.exec('BEGIN IMMEDIATE');
  expect(await compact(db)).toMatchObject({ outcome: 'in use' });
  other.exec('ROLLBACK');
});

test('C245: a server uses the pages of removed rows again', async () => {
  const { db } = await empty('sqld on workerd');
  expect(db.shrink).toBeUndefined();
  expect(await compact(db)).toBeUndefined();
  await fill(db);
  const pages = async () => (await db.query('SELECT page_count AS pages FROM pragma_page_count'))[0]?.pages;
  const before = Number(await pages());
  for (let round = 0; round < 2; round++) {
    await db.query('DELETE FROM history');
    await refill(db);
  }
  expect(Number(await pages()) / before).toBeLessThan(1.1);
});
