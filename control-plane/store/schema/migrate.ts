/**
 * Schema migrations: applies them in order, each as a whole or not at all. A floor keeps old programs off a
 * newer schema (STORE-3). The schema itself is in migrations.ts.
 */
import { DatabaseError, type Db, type Statement } from '../db/db.ts';

export interface Migration {
  /** Ascending, never reused. The newest version that a program has is the schema version of that program. */
  version: number;
  name: string;
  /** One SQL statement each, without parameters. */
  statements: readonly string[];
  /** New floor: programs whose newest migration is below it must not use the schema. */
  oldestCode?: number;
  /**
   * The last migration of the history before a baseline. A database that ends there has the schema already,
   * and is taken over; an older one is refused.
   */
  replaces?: { version: number; name: string };
}

/** The last sources with the migrations that the baseline replaces. */
const LAST_BEFORE_BASELINE = '39ede693';

/** The schema version of a program with these migrations. */
export const schemaVersionOf = (migrations: readonly Migration[]): number => migrations.at(-1)?.version ?? 0;

/** The database and this program do not match; an operator must act. */
export class SchemaError extends Error {
  override name = 'SchemaError';
}

/**
 * Applies the migrations that the database lacks, and resolves to those that this call applied. Several
 * processes may migrate at once. A newer database is accepted down to its floor. Rejects with SchemaError if
 * database and program do not match. Rejects with DatabaseError if a migration fails; nothing of it is then
 * applied. `backUp` is called before a database of the history before the baseline is taken over.
 */
export async function migrate(
  db: Db,
  migrations: readonly Migration[],
  backUp: () => Promise<void> = async () => {},
): Promise<Migration[]> {
  checkOrder(migrations);
  await db.batch([{ sql: CREATE_TABLE, args: [] }]);
  const applied: Migration[] = [];
  for (;;) {
    // Read again each time: another process may have migrated further, even past this program's floor.
    const rows = await readApplied(db);
    const replaced = replacedBy(migrations, rows);
    const next = replaced ?? nextMigration(rows, migrations);
    if (next === undefined) return applied;
    if (replaced) await backUp();
    if (await apply(db, next, replaced ? [forgetBefore(next)] : next.statements.map(plain)))
      applied.push(next);
  }
}

interface Applied {
  version: number;
  name: string;
  oldestCode: number;
}

async function readApplied(db: Db): Promise<Applied[]> {
  const rows = await db.query('SELECT version, name, oldest_code FROM schema_migrations ORDER BY version');
  return rows.map((row) => ({
    version: Number(row.version),
    name: String(row.name),
    oldestCode: Number(row.oldest_code),
  }));
}

/**
 * The baseline, if the database ends where it begins. Throws SchemaError for an older database.
 */
function replacedBy(migrations: readonly Migration[], applied: readonly Applied[]): Migration | undefined {
  const [baseline] = migrations;
  const newest = applied.at(-1);
  if (!baseline?.replaces || !newest || newest.version >= baseline.version) return undefined;
  const { version, name } = baseline.replaces;
  if (newest.version === version && newest.name === name) return baseline;
  throw new SchemaError(
    `the database has schema ${newest.version} "${newest.name}", and this Berth takes over schema ${version} ` +
      `"${name}" and later ones. Start the database once with the last Berth of schema ${version} (commit ` +
      `${LAST_BEFORE_BASELINE} of its sources), which brings it there, then with this one.`,
  );
}

/**
 * The first migration that the database lacks. Throws SchemaError if this program must not use the database.
 */
function nextMigration(applied: readonly Applied[], migrations: readonly Migration[]): Migration | undefined {
  const newestKnown = schemaVersionOf(migrations);
  const newestApplied = applied.at(-1)?.version ?? 0;
  const floor = Math.max(0, ...applied.map(({ oldestCode }) => oldestCode));
  if (floor > newestKnown) {
    throw new SchemaError(
      `the database has schema ${newestApplied}, which requires Berth with schema ${floor} or newer. ` +
        `This Berth has schema ${newestKnown}: update it.`,
    );
  }
  for (const { version, name } of applied) {
    const known = migrations.find((migration) => migration.version === version);
    if (known ? known.name !== name : version <= newestKnown) {
      throw new SchemaError(
        `migration ${version} of the database is "${name}", which this version of Berth does not have`,
      );
    }
  }
  const next = migrations.find(({ version }) => !applied.some((row) => row.version === version));
  if (next && next.version < newestApplied) {
    throw new SchemaError(
      `migration ${next.version} "${next.name}" is missing below schema ${newestApplied}`,
    );
  }
  return next;
}

/**
 * Resolves to false if another process was first: its row exists, so the batch fails before it changes
 * anything.
 */
async function apply(
  db: Db,
  { version, name, oldestCode = 0 }: Migration,
  statements: readonly Statement[],
): Promise<boolean> {
  const record: Statement = { sql: INSERT_ROW, args: [version, name, oldestCode] };
  try {
    await db.batch([record, ...statements]);
    return true;
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.kind !== 'constraint') throw error;
    if ((await readApplied(db)).some((row) => row.version === version)) return false;
    throw error;
  }
}

function checkOrder(migrations: readonly Migration[]): void {
  let last = 0;
  for (const { version, name, oldestCode = 0 } of migrations) {
    if (!Number.isSafeInteger(version) || version <= last) {
      throw new SchemaError(`migration ${version} "${name}" is out of order`);
    }
    if (oldestCode > version)
      throw new SchemaError(`migration ${version} "${name}" has a floor above itself`);
    last = version;
  }
}

const CREATE_TABLE = `CREATE TABLE IF NOT EXISTS schema_migrations (
  version INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  oldest_code INTEGER NOT NULL
)`;
const INSERT_ROW = 'INSERT INTO schema_migrations (version, name, oldest_code) VALUES (?, ?, ?)';
const forgetBefore = ({ version }: Migration): Statement => ({
  sql: 'DELETE FROM schema_migrations WHERE version < ?',
  args: [version],
});
const plain = (sql: string): Statement => ({ sql, args: [] });
