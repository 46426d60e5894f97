/**
 * Entry of `npm run backup FILE`: writes a consistent copy of the embedded database while the control plane
 * runs.
 */
import { chmodSync, closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { command, databaseFile, mustExist, readArguments, UsageError, urlOf } from './local/database-file.ts';
import { openEmbedded } from './store/db/embedded.ts';
import { copyTo, inspect } from './store/schema/backup.ts';

await command(async () => {
  const usage = 'npm run backup FILE (for programs: npm run --silent backup -- FILE --json)';
  const { argument } = readArguments(process.argv.slice(2), ['--json'], usage);
  const file = resolve(argument);
  const source = databaseFile(process.env);
  mustExist(source, 'The database');
  if (existsSync(file))
    throw new UsageError(`${file} already exists. Name another file, or remove this one.`);
  const unfinished = `${file}.${process.pid}.unfinished`;
  try {
    const found = await copy(source, unfinished);
    // Unlike a rename, this fails if the file was created meanwhile.
    linkSync(unfinished, file);
    const bytes = statSync(file).size;
    const text = `Backed up ${source} to ${file}: ${found.executions} executions, ${bytes} bytes, schema ${found.schema}.`;
    return { text, file, bytes, ...found };
  } finally {
    for (const path of [unfinished, `${unfinished}-wal`, `${unfinished}-shm`]) rmSync(path, { force: true });
  }
});

/** The copy is on disk, and readable by this user only, before it gets its final name. */
async function copy(source: string, target: string): Promise<{ schema: number; executions: number }> {
  // The engine writes into an existing empty file, so the file gets its restrictive mode first.
  closeSync(openSync(target, 'wx', 0o600));
  const db = await openEmbedded(urlOf(source));
  try {
    await copyTo(db, target);
    chmodSync(target, 0o600);
    const file = openSync(target, 'r+');
    fsyncSync(file);
    closeSync(file);
    return await inspect(db);
  } finally {
    await db.close();
  }
}
