/** Databases of schema 28, the last before the baseline, and older ones. */
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { defaultSchedulerConfig } from '../../../control-plane/core/model/scheduler-config.ts';
import { takeOver } from '../../../control-plane/store/cluster/cluster-rows.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { loadIdKey } from '../../../control-plane/store/schema/id-sequences.ts';
import { migrate } from '../../../control-plane/store/schema/migrate.ts';
import { migrations } from '../../../control-plane/store/schema/migrations.ts';
import { databaseKinds, emptyDatabase } from '../../support/hosts/databases.ts';
import { fillAsSchema28 } from '../../support/hosts/schema-28.ts';

const LAST = migrations.at(-1)?.version;

const namesOf = (rows: readonly { name?: unknown }[]) => rows.map(({ name }) => String(name));
const tablesOf = async (db: Db) =>
  namesOf(
    await db.query(
      `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`,
    ),
  );

/** What statements can notice of a schema: the order of columns and the layout of texts are left out. */
async function shapeOf(db: Db) {
  const tables = await tablesOf(db);
  const columns = tables.map((table) =>
    Promise.all([
      db.query(
        `SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info('${table}') ORDER BY name`,
      ),
      db.query(`SELECT "from", "table", on_delete FROM pragma_foreign_key_list('${table}') ORDER BY "from"`),
    ]),
  );
  const indexes = await db.query(
    `SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY name`,
  );
  const indexTexts = indexes.map(({ name, sql }) => [name, String(sql).replaceAll(/\s+/g, ' ')]);
  return { tables, columns: await Promise.all(columns), indexes: indexTexts };
}

const rowsOf = async (db: Db, tables: readonly string[]) => {
  const read = async (table: string) => [table, await db.query(`SELECT * FROM ${table}`)] as const;
  return Object.fromEntries(await Promise.all(tables.map(read)));
};

async function database(kind: (typeof databaseKinds)[number]): Promise<Db> {
  const place = await emptyDatabase(kind);
  onTestFinished(() => place.remove());
  return place.open();
}

describe.each(databaseKinds)('on %s', (kind) => {
  let db: Db;
  let backups: number;
  const backUp = async () => {
    backups += 1;
    const [last] = await db.query('SELECT max(version) AS version FROM schema_migrations');
    expect(last).toEqual({ version: 28 });
  };
  beforeEach(async () => {
    backups = 0;
    db = await database(kind);
    await fillAsSchema28(db);
  });

  test('H507: a database of schema 28 gets the schema of a new one, once, after a copy, and keeps its rows', async () => {
    const tables = (await tablesOf(db)).filter((table) => table !== 'schema_migrations');
    const before = await rowsOf(db, tables);
    for (const table of tables) expect(before[table], table).not.toEqual([]);
    const idKey = await loadIdKey(db);

    expect((await migrate(db, migrations, backUp)).at(-1)?.version).toBe(LAST);
    expect(backups).toBe(1);
    const fresh = await database(kind);
    await migrate(fresh, migrations);
    expect(await shapeOf(db)).toEqual(await shapeOf(fresh));
    expect(await rowsOf(db, tables)).toMatchObject(before);
    expect(await db.query('PRAGMA foreign_key_check')).toEqual([]);
    expect(await loadIdKey(db)).toBe(idKey);
    expect(await migrate(db, migrations, backUp)).toEqual([]);
    expect(backups).toBe(1);
  });

  test('H507: the coordinator takes over what lives in a database of schema 28', async () => {
    await migrate(db, migrations);
    const { epoch, cluster } = await takeOver(db, defaultSchedulerConfig, { name: 'new', hasHeld: false });
    expect(epoch).toBe(6);
    expect([...cluster.executions.values()].map(({ id, status }) => [id, status])).toEqual([
      [1, 'running'],
      [2, 'queued'],
    ]);
    expect(cluster.executions.get(1)?.services).toMatchObject([{ id: 1, hostId: 1, generation: 1 }]);
    expect(cluster.executions.get(2)).toMatchObject({ firstServiceId: 2, serviceCount: 1 });
    expect(cluster.hosts.get(1)).toMatchObject({ name: 'host', memoryBytes: 2 ** 30 });
    expect(cluster.users.has(7)).toBe(true);
  });

  test('H507: an older database is refused with the way out, and nothing is changed', async () => {
    await db.batch([{ sql: 'DELETE FROM schema_migrations WHERE version > 17', args: [] }]);
    const message = /schema 17 .* takes over schema 28 .*Start .* once with the last Berth/;
    const refusal = { name: 'SchemaError', message: expect.stringMatching(message) };
    await expect(migrate(db, migrations, backUp)).rejects.toMatchObject(refusal);
    expect(backups).toBe(0);
    expect(await db.query('SELECT count(*) AS n FROM schema_migrations')).toEqual([{ n: 17 }]);
  });

  test('H507: a database whose copy fails stays as it is', async () => {
    const failure = new Error('no space left on device');
    await expect(migrate(db, migrations, () => Promise.reject(failure))).rejects.toBe(failure);
    await expect(migrate(db, migrations, backUp)).resolves.not.toEqual([]);
  });
});
