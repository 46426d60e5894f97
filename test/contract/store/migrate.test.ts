/** Contract of migrations (control-plane/store/schema/migrate.ts), on every kind of database. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findKey, insertKey } from '../../../control-plane/store/accounts/idempotency-keys.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { type Migration, migrate } from '../../../control-plane/store/schema/migrate.ts';
import { migrations } from '../../../control-plane/store/schema/migrations.ts';
import {
  databaseKinds,
  emptyDatabase,
  lastingKinds,
  type TestDatabase,
} from '../../support/hosts/databases.ts';

const hosts: Migration = {
  version: 1,
  name: 'hosts',
  statements: ['CREATE TABLE hosts (id INTEGER PRIMARY KEY)', 'INSERT INTO hosts VALUES (1)'],
};
const labels: Migration = {
  version: 2,
  name: 'labels',
  statements: ["ALTER TABLE hosts ADD COLUMN label TEXT DEFAULT 'none'", "UPDATE hosts SET label = 'first'"],
};
const renamed: Migration = {
  version: 3,
  name: 'renamed',
  statements: ['ALTER TABLE hosts RENAME COLUMN label TO tag'],
  oldestCode: 3,
};

let place: TestDatabase;
let db: Db;
const versions = async () =>
  (await db.query('SELECT version FROM schema_migrations ORDER BY version')).map((row) => row.version);

describe.each(databaseKinds)('migrate on %s', (kind) => {
  beforeEach(async () => {
    place = await emptyDatabase(kind);
    db = await place.open();
  });
  afterEach(() => place.remove());

  test('a database gets every missing migration in order, and a second run applies nothing', async () => {
    expect(await migrate(db, [hosts])).toEqual([hosts]);
    expect(await migrate(db, [hosts, labels, renamed])).toEqual([labels, renamed]);
    expect(await migrate(db, [hosts, labels, renamed])).toEqual([]);
    expect(await db.query('SELECT * FROM hosts')).toEqual([{ id: 1, tag: 'first' }]);
    expect(await versions()).toEqual([1, 2, 3]);
  });

  test.each([
    ['an invalid statement', 'INSERT INTO nowhere VALUES (1)', 'other'],
    ['a violated constraint', 'INSERT INTO hosts VALUES (1)', 'constraint'],
  ])('a migration with %s in the middle leaves nothing behind', async (_, statement, failure) => {
    const statements = ['CREATE TABLE half (id INTEGER)', statement, 'DROP TABLE half'];
    const migrating = migrate(db, [hosts, { version: 2, name: 'broken', statements }]);
    await expect(migrating).rejects.toMatchObject({ name: 'DatabaseError', kind: failure });
    expect(await versions()).toEqual([1]);
    await expect(db.query('SELECT * FROM half')).rejects.toThrow('no such table: half');
    expect(await migrate(db, [hosts, labels])).toEqual([labels]);
  });

  test('H443: idempotency keys go with their user', async () => {
    await migrate(db, migrations);
    await db.query(
      `INSERT INTO users (id, username, email, role_id, quota_id, auth_source, fs_uid, priority, enabled)
        VALUES (7, 'alice', '', 1, 1, 'internal', 1000, 0, 1)`,
    );
    const used = { userId: 7, key: 'a', digest: '', madeId: 1, madeMs: 0 };
    await db.batch([insertKey(used), insertKey({ ...used, digest: 'of another', madeMs: 1 })]);
    expect(await findKey(db, 7, 'a')).toEqual(used);
    await expect(db.batch([insertKey({ ...used, userId: 8 })])).rejects.toMatchObject({ kind: 'constraint' });
    await db.query('DELETE FROM users WHERE id = 7');
    expect(await db.query('SELECT key FROM idempotency_keys')).toEqual([]);
  });

  test('older code runs on a newer schema down to its floor; code below it fails with the advice to update, and changes nothing', async () => {
    await migrate(db, [hosts, labels]);
    expect(await migrate(db, [hosts])).toEqual([]);
    await migrate(db, [hosts, labels, renamed]);
    const advice = /schema 3.*has schema 2: update it/;
    const error = { name: 'SchemaError', message: expect.stringMatching(advice) };
    await expect(migrate(db, [hosts, labels])).rejects.toMatchObject(error);
    expect(await versions()).toEqual([1, 2, 3]);
    // The floor stays when a later migration sets none.
    await migrate(db, [hosts, labels, renamed, { version: 4, name: 'none', statements: [] }]);
    await expect(migrate(db, [hosts, labels])).rejects.toMatchObject({ name: 'SchemaError' });
    expect(await migrate(db, [hosts, labels, renamed])).toEqual([]);
  });

  test('another history is refused: a migration of another name, an unknown one, or a gap', async () => {
    await migrate(db, [hosts, renamedTo(labels, 2, 'tags')]);
    await expect(migrate(db, [hosts, labels])).rejects.toThrow('migration 2 of the database is "tags"');
    await expect(migrate(db, [hosts, renamed])).rejects.toThrow('migration 2 of the database is "tags"');
    await db.batch([{ sql: 'DELETE FROM schema_migrations WHERE version = 1', args: [] }]);
    await expect(migrate(db, [hosts])).rejects.toThrow('migration 1 "hosts" is missing below schema 2');
  });

  test('a list out of order or with a floor above itself is refused before the database is touched', async () => {
    await expect(migrate(db, [labels, hosts])).rejects.toThrow('migration 1 "hosts" is out of order');
    await expect(migrate(db, [hosts, hosts])).rejects.toThrow('out of order');
    await expect(migrate(db, [{ ...hosts, oldestCode: 2 }])).rejects.toThrow('floor above itself');
    await expect(versions()).rejects.toThrow('no such table');
  });
});

describe.each(lastingKinds)('simultaneous migrate on %s', (kind) => {
  beforeEach(async () => {
    place = await emptyDatabase(kind);
  });
  afterEach(() => place.remove());

  test('connections that start together apply each migration once', async () => {
    const all = await Promise.all(Array.from({ length: 4 }, () => place.open()));
    const applied = await Promise.all(all.map((each) => migrate(each, [hosts, labels, renamed])));
    const versions = applied.flat().map(({ version }) => version);
    expect(versions.sort()).toEqual([1, 2, 3]);
  });
});

const renamedTo = (migration: Migration, version: number, name: string) => ({ ...migration, version, name });
