/** Prepares the database before anything is served: schema and first administrator. */
import type { Logger } from './coordinator/ports.ts';
import { ensureAdministrator, type FirstPassword } from './operations/accounts/generated-passwords.ts';
import type { Db } from './store/db/db.ts';
import { migrate } from './store/schema/migrate.ts';
import { migrations } from './store/schema/migrations.ts';

/**
 * Resolves to true if this call changed the schema. `backUp` makes a copy of a database from before the
 * baseline; on a libSQL server copies are the operator's.
 */
export async function migrateDatabase(db: Db, log: Logger, backUp?: () => Promise<void>): Promise<boolean> {
  const applied = await migrate(db, migrations, backUp);
  for (const { version, name } of applied) log('database.migrated', { version, name });
  return applied.length > 0;
}

/**
 * Resolves to the password of an administrator that was just created, which must be shown; otherwise to
 * undefined.
 */
export async function prepareDatabase(
  db: Db,
  log: Logger,
  first: FirstPassword,
  nowMs: number,
): Promise<string | undefined> {
  await migrateDatabase(db, log);
  return ensureAdministrator(db, first, nowMs);
}
