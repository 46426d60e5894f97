/**
 * Entry of `npm run reset-password NAME`: gives a user a random password, in the database of the settings.
 * The control plane may run meanwhile.
 */
import { readNodeConfig } from './config.ts';
import { command, databaseFile, mustExist, readArguments } from './local/database-file.ts';
import { UsageError } from './local/disk-problems.ts';
import { openDatabase, urlOf } from './local/open-database.ts';
import { resetPassword } from './operations/accounts/generated-passwords.ts';

await command(async () => {
  const usage = 'npm run reset-password NAME (for programs: npm run --silent reset-password -- NAME --json)';
  const { argument: username } = readArguments(process.argv.slice(2), ['--json'], usage);
  const config = readNodeConfig(process.env);
  const db = await openDatabase(databaseUrl(config.BERTH_DATABASE_URL), config.BERTH_DATABASE_TOKEN);
  try {
    const reset = await resetPassword(db, username, {
      minLength: config.BERTH_MIN_PASSWORD_LENGTH,
      nowMs: Date.now(),
    });
    if (!reset) throw new UsageError(`There is no user ${username}. Nothing was changed.`);
    const text = [
      `The new password of ${reset.username} is ${reset.password} (shown only now).`,
      'All sessions and tokens of the user have ended.',
      ...(reset.obstacle === undefined ? [] : [`The user still cannot log in: ${reset.obstacle}.`]),
    ].join('\n');
    return { text, ...reset, obstacle: reset.obstacle ?? null };
  } finally {
    await db.close();
  }
});

/** An embedded database must exist: opening would create it. */
function databaseUrl(configured: string | undefined): string {
  if (configured !== undefined && /^(https?|libsql):/.test(configured)) return configured;
  const file = databaseFile(process.env);
  mustExist(file, 'The database');
  return urlOf(file);
}
