/** Contract of migrations (control-plane/store/schema/migrate.ts), on every kind of database. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
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

  test('an empty database gets every migration in order', async () => {
    expect(await migrate(db, [hosts, labels, renamed])).toEqual([hosts, labels, renamed]);
    expect(await db.query('SELECT * FROM hosts')).toEqual([{ id: 1, tag: 'first' }]);
    expect(await versions()).toEqual([1, 2, 3]);
  });

  test('a second run applies nothing', async () => {
    await migrate(db, [hosts, labels]);
    expect(await migrate(db, [hosts, labels])).toEqual([]);
    expect(await db.query('SELECT * FROM hosts')).toEqual([{ id: 1, label: 'first' }]);
  });

  test('an older database gets only the missing migrations', async () => {
    await migrate(db, [hosts]);
    expect(await migrate(db, [hosts, labels])).toEqual([labels]);
    expect(await db.query('SELECT * FROM hosts')).toEqual([{ id: 1, label: 'first' }]);
  });

  test.each([
    ['an invalid statement', 'INSERT INTO nowhere VALUES (1)', 'other'],
    ['a violated constraint', 'INSERT INTO hosts VALUES (1)', 'constraint'],
  ])('a migration with %s in the middle leaves nothing behind', async (_, statement, failure) => {
    const broken: Migration = {
      version: 2,
      name: 'broken',
      statements: [
        'CREATE TABLE half (id INTEGER)',
        'DELETE FROM hosts WHERE id > 1',
        statement,
        'DROP TABLE half',
      ],
    };
    await expect(migrate(db, [hosts, broken])).rejects.toMatchObject({
      name: 'DatabaseError',
      kind: failure,
    });
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

  test('C210: each database gets a random key of the proofs of ids once', async () => {
    const key = async () => {
      const [row] = await db.query(`SELECT value FROM secrets WHERE name = 'id-proofs'`);
      return row?.value;
    };
    await migrate(db, migrations);
    const first = await key();
    expect(first).toMatch(/^[0-9a-f]{64}$/);
    await migrate(db, migrations);
    expect(await key()).toBe(first);
    const other = await emptyDatabase(kind);
    const another = await other.open();
    await migrate(another, migrations);
    expect(await another.query(`SELECT value FROM secrets WHERE name = 'id-proofs'`)).not.toEqual([
      { value: first },
    ]);
    await other.remove();
  });

  test('older code runs on a newer schema down to its floor', async () => {
    await migrate(db, [hosts, labels]);
    expect(await migrate(db, [hosts])).toEqual([]);
  });

  test('code below the floor fails with the advice to update, and changes nothing', async () => {
    await migrate(db, [hosts, labels, renamed]);
    await expect(migrate(db, [hosts, labels])).rejects.toMatchObject({
      name: 'SchemaError',
      message: expect.stringMatching(/schema 3.*has schema 2: update it/),
    });
    expect(await versions()).toEqual([1, 2, 3]);
  });

  test('a floor stays when a later migration sets none', async () => {
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
    expect(
      applied
        .flat()
        .map(({ version }) => version)
        .sort(),
    ).toEqual([1, 2, 3]);
  });

  test('processes that start together apply each migration once, and all succeed', async () => {
    const migrations = [hosts, labels, renamed];
    const processes = await Promise.all([1, 2, 3].map(() => startMigrator(place.url, migrations)));
    const applied = await Promise.all(processes.map((run) => run()));
    expect(applied.flat().sort()).toEqual([1, 2, 3]);
    db = await place.open();
    expect(await db.query('SELECT * FROM hosts')).toEqual([{ id: 1, tag: 'first' }]);
  });
});

const renamedTo = (migration: Migration, version: number, name: string) => ({ ...migration, version, name });

/**
 * Resolves once the process waits. The returned function lets it run, and resolves to the versions that it
 * applied.
 */
async function startMigrator(url: string, migrations: Migration[]): Promise<() => Promise<number[]>> {
  const script = fileURLToPath(new URL('../../support/hosts/migrator.ts', import.meta.url));
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(
    process.execPath,
    [script, url, JSON.stringify(migrations)],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe('ready');
  return async () => {
    const exited = once(child, 'exit');
    child.stdin.write('go\n');
    const { value } = await lines.next();
    expect(await exited).toEqual([0, null]);
    return JSON.parse(value ?? '');
  };
}
