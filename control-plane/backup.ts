/**
 * Entry of `npm run backup FILE`: writes a consistent copy of the embedded database while the control plane
 * runs.
 */
import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { backUp } from './local/database-copy.ts';
import { command, databaseFile, mustExist, readArguments } from './local/database-file.ts';
import { namingDisk, UsageError } from './local/disk-problems.ts';

await command(async () => {
  const usage = 'npm run backup FILE (for programs: npm run --silent backup -- FILE --json)';
  const { argument } = readArguments(process.argv.slice(2), ['--json'], usage);
  const file = resolve(argument);
  const source = databaseFile(process.env);
  mustExist(source, 'The database');
  mustExist(dirname(file), 'The folder of the backup');
  if (existsSync(file))
    throw new UsageError(`${file} already exists. Name another file, or remove this one.`);
  const found = await namingDisk(dirname(file), 'No backup was made.', () => backUp(source, file));
  const bytes = statSync(file).size;
  const text = `Backed up ${source} to ${file}: ${found.executions} executions, ${bytes} bytes, schema ${found.schema}.`;
  return { text, file, bytes, ...found };
});
