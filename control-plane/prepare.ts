/** Prepares the database before anything is served: schema, secrets and first administrator. */
import type { Logger } from './coordinator/ports.ts';
import { ensureAdministrator, type FirstPassword } from './operations/accounts/generated-passwords.ts';
import { convertEarlierSecrets } from './operations/secrets/earlier-secrets.ts';
import type { Db } from './store/db/db.ts';
import { migrate } from './store/schema/migrate.ts';
import { migrations } from './store/schema/migrations.ts';

interface Migrating {
  /** Keys of the values of secrets, of which those in the form before 0.1.0 are converted. */
  secretKeys?: readonly string[] | undefined;
  /** Makes a copy of a database from before the baseline; on a libSQL server copies are the operator's. */
  backUp?: () => Promise<void>;
}

/** Resolves to true if this call changed the schema. */
export async function migrateDatabase(
  db: Db,
  log: Logger,
  { secretKeys = [], backUp }: Migrating = {},
): Promise<boolean> {
  const applied = await migrate(db, migrations, backUp);
  for (const { version, name } of applied) log('database.migrated', { version, name });
  const converted = await convertEarlierSecrets(db, secretKeys);
  if (converted > 0) log('database.secrets-converted', { converted });
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
  secretKeys?: readonly string[],
): Promise<string | undefined> {
  await migrateDatabase(db, log, { secretKeys });
  return ensureAdministrator(db, first, nowMs);
}
