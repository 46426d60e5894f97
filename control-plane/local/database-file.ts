/** Common parts of backup, restore and reset-password: the database, the arguments, and the output. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readNodeConfig } from '../config.ts';
import { UsageError } from './disk-problems.ts';
import { environment } from './environment.ts';
import { fileOf } from './open-database.ts';

export interface Arguments {
  argument: string;
  flags: ReadonlySet<string>;
}

/** One argument, and flags out of `known`. */
export function readArguments(args: readonly string[], known: readonly string[], usage: string): Arguments {
  const flags = args.filter((arg) => arg.startsWith('--'));
  const [argument, ...more] = args.filter((arg) => !arg.startsWith('--'));
  if (argument === undefined || more.length > 0 || flags.some((flag) => !known.includes(flag)))
    throw new UsageError(`Usage: ${usage}`);
  return { argument, flags: new Set(flags) };
}

/** The embedded database that the settings name. */
export function databaseFile(env: NodeJS.ProcessEnv): string {
  const config = readNodeConfig(environment(env));
  const url = config.BERTH_DATABASE_URL;
  if (url === undefined) return resolve(join(config.BERTH_DATA_DIR, 'berth.db'));
  const file = fileOf(url);
  if (file !== undefined) return file;
  throw new UsageError(
    url === ':memory:' || url === 'file::memory:'
      ? 'The database is in the memory of the control plane, and is lost when the control plane ends.'
      : 'The database is on a server: back it up and restore it there (sqld: stop it and copy its folder; ' +
          'Turso: use point-in-time recovery). Then start with BERTH_DATABASE_URL of the restored database.',
  );
}

export function mustExist(path: string, what: string): void {
  if (!existsSync(path)) throw new UsageError(`${what} ${path} does not exist.`);
}

/**
 * Runs a command and prints its result as sentences or as JSON. An error is printed likewise, with exit code
 * 1.
 */
export async function command(run: () => Promise<{ text: string } & Record<string, unknown>>): Promise<void> {
  const asJson = process.argv.includes('--json');
  const say = (text: string, fields: object) =>
    process.stdout.write(`${asJson ? JSON.stringify(fields) : text}\n`);
  try {
    const { text, ...fields } = await run();
    say(text, fields);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (asJson) say('', { error: message });
    else process.stderr.write(`${message}\n`);
    process.exitCode = 1;
  }
}
