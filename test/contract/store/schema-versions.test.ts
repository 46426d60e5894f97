/** Databases of every earlier version of the schema, with a row in each table, are brought up to date. */
import { expect, onTestFinished, test } from 'vitest';
import { defaultSchedulerConfig } from '../../../control-plane/core/model/scheduler-config.ts';
import { takeOver } from '../../../control-plane/store/cluster/cluster-rows.ts';
import type { Db, Row, Value } from '../../../control-plane/store/db/db.ts';
import { migrate } from '../../../control-plane/store/schema/migrate.ts';
import { migrations } from '../../../control-plane/store/schema/migrations.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { emptyDatabase } from '../../support/hosts/databases.ts';

const DESCRIPTION = JSON.stringify(application(service()));
const EXECUTIONS = [
  { id: 1, status: 'running', time_start_ms: 2_000 },
  { id: 2, status: 'queued' },
  { id: 3, status: 'terminated', time_start_ms: 2_000, time_end_ms: 3_000 },
];
const SERVICES = [
  {
    id: 1,
    execution_id: 1,
    status: 'active',
    backend_status: 'started',
    host_id: 1,
    placed: 1,
    generation: 1,
  },
  { id: 2, execution_id: 2, status: 'inactive', backend_status: 'undefined' },
  { id: 3, execution_id: 3, status: 'inactive', backend_status: 'destroyed', host_id: 1, generation: 1 },
];

/** The rows of a table, as far as their values have a meaning. Columns of later versions are left out. */
const ROWS: Readonly<Record<string, readonly Readonly<Record<string, Value>>[]>> = {
  roles: [{ id: 7, name: 'own' }],
  quotas: [{ id: 7, name: 'own', concurrent_executions: 9 }],
  users: [{ id: 7, username: 'alice', role_id: 7, quota_id: 7, enabled: 1, deleted: 0 }],
  tokens: [{ kind: 'access' }],
  hosts: [{ id: 1, name: 'host', labels: '["gpu"]', admin_labels: '[]', memory_bytes: 2 ** 30, cores: 4 }],
  executions: EXECUTIONS.map((row) => ({ ...row, name: 'app', deleted: 0, description: DESCRIPTION })),
  services: SERVICES.map((row) => ({
    ...{ service_group: 'main', ports: '[]', deaths_ms: '[]', forgotten: 0, placed: 0, generation: 0 },
    ...row,
    name: 'main0',
  })),
  unknown_services: [{ first: 1_000, last: 1_001 }],
  join_tokens: [{ labels: '[]', host_id: 1 }],
  personal_tokens: [{ scopes: '["read"]' }],
  sign_ons: [{ user_id: 7, issuer: 'https://id.example.org' }],
  user_secrets: [{ kind: 'secret', user_id: 7 }],
  used_sign_ons: [{ state_hash: 'a', expires_ms: 1_000 }],
};

/** Tables that have their only row from the beginning. */
const SINGLE = ['coordinator'];

const tablesOf = async (db: Db): Promise<string[]> => {
  const rows = await db.query(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'schema_migrations'
      ORDER BY rowid`,
  );
  return rows.map(({ name }) => String(name));
};
const schemaOf = (db: Db) =>
  db.query('SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name');
const countsOf = async (db: Db, tables: readonly string[]) => {
  const counts = tables.map(async (table) => {
    const [row] = await db.query(`SELECT count(*) AS n FROM ${table}`);
    return [table, Number(row?.n)] as const;
  });
  return Object.fromEntries(await Promise.all(counts));
};

/** A row with the values that are given, and what its columns need besides. */
async function insert(db: Db, table: string, given: Readonly<Record<string, Value>>): Promise<void> {
  const [columns, references] = await Promise.all([
    db.query(`SELECT name, type, "notnull" AS required, dflt_value FROM pragma_table_info('${table}')`),
    db.query(`SELECT "from" AS name, "table" AS parent FROM pragma_foreign_key_list('${table}')`),
  ]);
  const parentOf = new Map(references.map(({ name, parent }) => [name, String(parent)]));
  const valueFor = ({ name, type, required, dflt_value }: Row): Value | undefined => {
    const value = given[String(name)];
    if (value !== undefined) return value;
    if (required !== 1 || dflt_value !== null) return undefined;
    const parent = parentOf.get(name ?? null);
    if (parent) return ROWS[parent]?.[0]?.id ?? 1;
    return type === 'TEXT' ? String(name) : 1;
  };
  const values = columns.flatMap((column) => {
    const value = valueFor(column);
    return value === undefined ? [] : [[String(column.name), value] as const];
  });
  const names = values.map(([name]) => name).join(', ');
  await db.batch([
    {
      sql: `INSERT INTO ${table} (${names}) VALUES (${values.map(() => '?').join(', ')})`,
      args: values.map(([, value]) => value),
    },
  ]);
}

async function migrated(upTo: number): Promise<Db> {
  const place = await emptyDatabase(':memory:');
  onTestFinished(() => place.remove());
  const db = await place.open();
  await migrate(db, migrations.slice(0, upTo));
  return db;
}

test.each(migrations.map(({ version, name }, at) => [version, name, at + 1] as const))(
  'H507: a database of schema %i (%s) becomes one of the latest, keeps its rows, and the coordinator takes it over',
  async (version, _, upTo) => {
    const db = await migrated(upTo);
    const tables = await tablesOf(db);
    for (const table of tables)
      if (SINGLE.includes(table)) await db.query(`UPDATE ${table} SET epoch = 5, writer = 5`);
      else for (const row of ROWS[table] ?? [{}]) await insert(db, table, row);
    const before = await countsOf(db, tables);
    expect(Object.values(before)).not.toContain(0);

    const applied = await migrate(db, migrations);
    expect(applied).toHaveLength(migrations.length - upTo);
    expect(await schemaOf(db)).toEqual(await schemaOf(await migrated(migrations.length)));
    // A migration may add rows of its own, such as the key of the proofs of ids.
    const after = await countsOf(db, tables);
    for (const table of tables) expect(after[table], table).toBeGreaterThanOrEqual(before[table] ?? 0);
    expect(await db.query('PRAGMA foreign_key_check')).toEqual([]);

    expect(await db.query('SELECT can_exec FROM roles WHERE can_exec <> 1')).toEqual([]);

    const claimant = { name: `from ${version}`, hasHeld: false };
    const { epoch, cluster } = await takeOver(db, defaultSchedulerConfig, claimant);
    expect(epoch).toBe(6);
    expect([...cluster.executions.values()].map(({ id, status }) => [id, status])).toEqual([
      [1, 'running'],
      [2, 'queued'],
    ]);
    expect(cluster.executions.get(1)?.services).toMatchObject([{ id: 1, hostId: 1, generation: 1 }]);
    expect(cluster.executions.get(2)).toMatchObject({ firstServiceId: 2, serviceCount: 1 });
    expect(cluster.hosts.get(1)).toMatchObject({ name: 'host', memoryBytes: 2 ** 30 });
    expect(cluster.users.has(7)).toBe(true);
  },
);
