/** Owns what must be true of the database before anything is served: its schema and a first administrator. */
import type { Logger } from './coordinator/ports.ts';
import { ensureAdministrator } from './operations/accounts/first-administrator.ts';
import type { Db } from './store/db/db.ts';
import { migrate } from './store/schema/migrate.ts';
import { migrations } from './store/schema/migrations.ts';

/** Resolves to the password of a first administrator that was made now and must be told, or undefined. */
export async function prepareDatabase(
  db: Db,
  log: Logger,
  adminPassword: string | undefined,
): Promise<string | undefined> {
  for (const { version, name } of await migrate(db, migrations)) log('database.migrated', { version, name });
  return ensureAdministrator(db, adminPassword);
}
