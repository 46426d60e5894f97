/**
 * Entry of `npm run reset-password NAME`: gives a user a random password, in the database of the settings.
 * The control plane may run meanwhile.
 */
import { dirname } from 'node:path';
import { readNodeConfig } from './config.ts';
import { command, databaseFile, mustExist, readArguments } from './local/database-file.ts';
import { namingDisk, UsageError } from './local/disk-problems.ts';
import { environment } from './local/environment.ts';
import { openDatabase, urlOf } from './local/open-database.ts';
import { resetPassword } from './operations/accounts/generated-passwords.ts';
import type { NodeConfig } from './settings.ts';

await command(async () => {
  const usage = 'npm run reset-password NAME (for programs: npm run --silent reset-password -- NAME --json)';
  const { argument: username } = readArguments(process.argv.slice(2), ['--json'], usage);
  const config = readNodeConfig(environment());
  const configured = config.BERTH_DATABASE_URL;
  if (configured !== undefined && /^(https?|libsql):/.test(configured))
    return await reset(configured, username, config);
  const file = databaseFile(process.env);
  // Opening would create it.
  mustExist(file, 'The database');
  return await namingDisk(dirname(file), 'Nothing was changed.', () => reset(urlOf(file), username, config));
});

async function reset(url: string, username: string, config: NodeConfig) {
  const db = await openDatabase(url, config.BERTH_DATABASE_TOKEN);
  try {
    const done = await resetPassword(db, username, {
      minLength: config.BERTH_LIMITS.minPasswordLength,
      nowMs: Date.now(),
    });
    if (!done) throw new UsageError(`There is no user ${username}. Nothing was changed.`);
    const text = [
      `The new password of ${done.username} is ${done.password} (shown only now).`,
      'All sessions and tokens of the user have ended.',
      ...(done.obstacle === undefined ? [] : [`The user still cannot log in: ${done.obstacle}.`]),
    ].join('\n');
    return { text, ...done, obstacle: done.obstacle ?? null };
  } finally {
    await db.close();
  }
}
