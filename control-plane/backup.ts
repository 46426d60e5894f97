/**
 * Entry of `npm run backup FILE`: writes a consistent copy of the embedded database while the control plane
 * runs.
 */
import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { writeCopy } from './local/database-copy.ts';
import { command, databaseFile, mustExist, readArguments, UsageError, urlOf } from './local/database-file.ts';
import { openEmbedded } from './store/db/embedded.ts';
import { inspect } from './store/schema/backup.ts';

await command(async () => {
  const usage = 'npm run backup FILE (for programs: npm run --silent backup -- FILE --json)';
  const { argument } = readArguments(process.argv.slice(2), ['--json'], usage);
  const file = resolve(argument);
  const source = databaseFile(process.env);
  mustExist(source, 'The database');
  if (existsSync(file))
    throw new UsageError(`${file} already exists. Name another file, or remove this one.`);
  const db = await openEmbedded(urlOf(source));
  try {
    await writeCopy(db, file);
    const found = await inspect(db);
    const bytes = statSync(file).size;
    const text = `Backed up ${source} to ${file}: ${found.executions} executions, ${bytes} bytes, schema ${found.schema}.`;
    return { text, file, bytes, ...found };
  } finally {
    await db.close();
  }
});
