/** Messages for a person whose control plane can't use its data folder or its address. */
import { closeSync, mkdirSync, openSync, readdirSync, readSync } from 'node:fs';
import { join, parse, resolve } from 'node:path';
import { ConfigError } from '../config.ts';

/** Creates the folder if it is missing, for this user only; returns its path. */
export function dataFolder(...path: [setting: string, ...string[]]): string {
  const folder = resolve(...path);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`BERTH_DATA_DIR: can't create the folder ${folder} (${reason}).`);
  }
  return folder;
}

/**
 * What to do if copies of an earlier database lie beside the empty `file`: other databases whose names begin
 * alike.
 */
export function besideCopies(file: string): string | undefined {
  const { dir, base, name } = parse(file);
  const copies = readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== base && entry.name.startsWith(name))
    .filter((entry) => !/-(wal|shm)$/.test(entry.name) && isDatabase(join(dir, entry.name)))
    .map((entry) => entry.name)
    .toSorted();
  if (copies.length === 0) return undefined;
  const named = copies.slice(-MAX_NAMED).map((copy) => join(dir, copy));
  return [
    `The database ${file} is empty, but ${copies.length} of an earlier time ${copies.length === 1 ? 'is' : 'are'} beside it:`,
    `${named.join(', ')}${copies.length > MAX_NAMED ? ' and others' : ''}.`,
    `To continue with one, restore it: berth restore ${named.at(-1)} --force (in a checkout: npm run restore --`,
    `${named.at(-1)} --force). To begin with a new database, move them to another folder.`,
  ].join(' ');
}

/** False for what this user can't read, and so can't restore. */
function isDatabase(path: string): boolean {
  const head = Buffer.alloc(MAGIC.length);
  try {
    const file = openSync(path, 'r');
    readSync(file, head);
    closeSync(file);
  } catch {
    return false;
  }
  return head.toString('latin1') === MAGIC;
}

/** How every file of SQLite begins. */
const MAGIC = 'SQLite format 3\0';
const MAX_NAMED = 3;

/**
 * The reason why the address can't be used, with the setting to change. Other errors are returned unchanged.
 */
export function listenProblem(error: NodeJS.ErrnoException, host: string, port: number): Error {
  switch (error.code) {
    case 'EADDRINUSE':
      return new ConfigError(`port ${port} is in use: stop what listens there, or set BERTH_PORT`);
    case 'EACCES':
      return new ConfigError(
        `port ${port} is reserved for privileged users: set BERTH_PORT to a port above 1023`,
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new ConfigError(`BERTH_HOST: ${host} is not an address of this machine`);
    default:
      return error;
  }
}
