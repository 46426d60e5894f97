/**
 * Owns how a schema grows: ordered migrations, each applied whole or not at all, and the floor that keeps old code
 * off a schema it would spoil. Never holds a schema itself.
 */
import { DatabaseError, type Db, type Statement } from '../db/db.ts';

export interface Migration {
  /** Ascending from migration to migration, never reused. The newest one a program knows is its own version. */
  version: number;
  name: string;
  /** One SQL statement each, without parameters. */
  statements: readonly string[];
  /** Raises the floor: programs whose newest migration is below it must not use the schema from here on. */
  oldestCode?: number;
}

/** The database and this program don't fit together; only a person can put that right. */
export class SchemaError extends Error {
  override name = 'SchemaError';
}

/**
 * Brings the database up to the newest of `migrations` and resolves to those applied by this call. Any number of
 * processes may do so at once. A database that is ahead is fine, down to its floor. Rejects with SchemaError where
 * the two don't fit, and with DatabaseError where a migration fails, of which then nothing is applied.
 */
export async function migrate(db: Db, migrations: readonly Migration[]): Promise<Migration[]> {
  checkOrder(migrations);
  await db.batch([{ sql: CREATE_TABLE, args: [] }]);
  const applied: Migration[] = [];
  for (;;) {
    // Read again each time: another process may have gone on, even past this program's floor.
    const rows = await readApplied(db);
    const next = nextMigration(rows, migrations);
    if (next === undefined) return applied;
    if (await apply(db, next)) applied.push(next);
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

/** The first migration the database lacks, once it is clear that this program may use it at all. */
function nextMigration(applied: readonly Applied[], migrations: readonly Migration[]): Migration | undefined {
  const newestKnown = migrations.at(-1)?.version ?? 0;
  const newestApplied = applied.at(-1)?.version ?? 0;
  const floor = Math.max(0, ...applied.map(({ oldestCode }) => oldestCode));
  if (floor > newestKnown) {
    throw new SchemaError(
      `the database has schema ${newestApplied}, which needs Berth with schema ${floor} or newer; ` +
        `this one knows ${newestKnown}: update Berth`,
    );
  }
  for (const { version, name } of applied) {
    const known = migrations.find((migration) => migration.version === version);
    if (known ? known.name !== name : version <= newestKnown) {
      throw new SchemaError(
        `migration ${version} of the database is "${name}", of which this Berth knows nothing`,
      );
    }
  }
  const next = migrations.find(({ version }) => !applied.some((row) => row.version === version));
  if (next && next.version < newestApplied) {
    throw new SchemaError(
      `migration ${next.version} "${next.name}" is missing beneath schema ${newestApplied}`,
    );
  }
  return next;
}

/** False where another process was first: its row is there, so that ours is refused before anything is changed. */
async function apply(db: Db, { version, name, statements, oldestCode = 0 }: Migration): Promise<boolean> {
  const record: Statement = { sql: INSERT_ROW, args: [version, name, oldestCode] };
  try {
    await db.batch([record, ...statements.map((sql) => ({ sql, args: [] }))]);
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
