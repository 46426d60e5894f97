/** Entry of `npm run backup FILE`: a copy of the embedded database, of one moment, while the control plane goes on. */
import { chmodSync, closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync, statSync } from 'node:fs';
import { command, databaseFile, mustExist, readArguments, UsageError, urlOf } from './local/database-file.ts';
import { openEmbedded } from './store/db/embedded.ts';
import { copyTo, inspect } from './store/schema/backup.ts';

await command(async () => {
  const usage = 'npm run backup FILE (for programs: npm run --silent backup -- FILE --json)';
  const { file } = readArguments(process.argv.slice(2), ['--json'], usage);
  const source = databaseFile(process.env);
  mustExist(source, 'The database');
  if (existsSync(file))
    throw new UsageError(`${file} is there already: name another file, or remove that one.`);
  const unfinished = `${file}.${process.pid}.unfinished`;
  try {
    const found = await copy(source, unfinished);
    // Unlike a rename it fails where a file has come to be there meanwhile.
    linkSync(unfinished, file);
    const bytes = statSync(file).size;
    const text = `Backed up ${source} to ${file}: ${found.executions} executions, ${bytes} bytes, schema ${found.schema}.`;
    return { text, file, bytes, ...found };
  } finally {
    for (const path of [unfinished, `${unfinished}-wal`, `${unfinished}-shm`]) rmSync(path, { force: true });
  }
});

/** The copy is on the disk, and readable by this user alone, before it gets its name. */
async function copy(source: string, target: string): Promise<{ schema: number; executions: number }> {
  // An empty file is what the engine lets itself be given, with rights that others have not.
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
