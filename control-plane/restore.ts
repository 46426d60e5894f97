/**
 * Entry of `npm run restore FILE`: replaces the embedded database by a backup, and keeps the previous one
 * beside it.
 */
import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { copyDatabase, removeDatabase, timeStamp } from './local/database-copy.ts';
import { command, databaseFile, mustExist, readArguments } from './local/database-file.ts';
import { diskProblem, namingDisk, UsageError } from './local/disk-problems.ts';
import { urlOf } from './local/open-database.ts';
import type { Db } from './store/db/db.ts';
import { openEmbedded } from './store/db/embedded.ts';
import {
  assignedIds,
  type GivenToUsers,
  givenToUsers,
  inspect,
  prepareRestored,
  SKIPPED_IDS,
  settle,
} from './store/schema/backup.ts';

await command(async () => {
  const usage = 'npm run restore FILE (to replace a database: npm run restore -- FILE --force; also --json)';
  const { argument, flags } = readArguments(process.argv.slice(2), ['--force', '--json'], usage);
  const file = resolve(argument);
  const target = databaseFile(process.env);
  mustExist(file, 'The backup');
  mustExist(dirname(target), 'The data folder');
  return namingDisk(dirname(target), 'Nothing was changed.', () => restore(file, target, flags));
});

async function restore(file: string, target: string, flags: ReadonlySet<string>) {
  const former = existsSync(target) ? await assertReplaceable(target, flags.has('--force')) : undefined;
  const unfinished = `${target}.${process.pid}.restoring`;
  try {
    const found = await prepare(file, unfinished, former);
    const asidePath = former === undefined ? undefined : setAside(target);
    renameSync(unfinished, target);
    syncFolder(dirname(target));
    const text = [
      `Restored ${target} from ${file}: ${found.executions} executions.`,
      ...(asidePath === undefined ? [] : [`The previous database is now ${asidePath}.`]),
      `Ids continue at least ${SKIPPED_IDS} higher. All users must log in again.`,
      'Containers started after the backup keep running: see BERTH_UNKNOWN_CONTAINERS in docs/operator-guide.md.',
    ].join('\n');
    return { text, file: target, previous: asidePath ?? null, ...found };
  } finally {
    removeDatabase(unfinished);
  }
}

/** What the replaced database has given, which the restored one must not give again. */
interface Given {
  ids: Awaited<ReturnType<typeof assignedIds>>;
  users: GivenToUsers;
}

/**
 * Throws UsageError without --force, or if the database is in use. Returns what it has given; null if
 * damaged.
 */
async function assertReplaceable(target: string, isForced: boolean): Promise<Given | null> {
  if (!isForced)
    throw new UsageError(`${target} already exists. With --force, it is renamed and the backup replaces it.`);
  let db: Db;
  try {
    db = await openEmbedded(urlOf(target), { busyTimeoutMs: 1_000 });
  } catch (error) {
    if (diskProblem(error, dirname(target)) !== undefined) throw error;
    // A damaged database: no control plane can be running on it.
    return null;
  }
  try {
    if (!(await settle(db)))
      throw new UsageError(
        `A control plane is using ${target}. Stop it first, and start it again afterwards.`,
      );
    const [ids, users] = await Promise.all([assignedIds(db), givenToUsers(db)]);
    return { ids, users };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    return null;
  } finally {
    await db.close();
  }
}

async function prepare(file: string, unfinished: string, former: Given | null | undefined) {
  try {
    return await prepareCopy(file, unfinished, former);
  } catch (cause) {
    if (diskProblem(cause, dirname(unfinished)) !== undefined) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`The backup ${file} can't be used: ${reason}. Nothing was changed.`, { cause });
  }
}

async function prepareCopy(file: string, unfinished: string, former: Given | null | undefined) {
  copyDatabase(file, unfinished);
  const db = await openEmbedded(urlOf(unfinished));
  try {
    const found = await inspect(db);
    await prepareRestored(db, former?.ids, former?.users);
    await settle(db);
    return found;
  } finally {
    await db.close();
  }
}

/** Adds a second name, so that there is a database at every moment. */
function setAside(target: string): string {
  const path = `${target}.before-${timeStamp()}`;
  linkSync(target, path);
  // A damaged database may leave these files, which the engine would apply to the new one.
  for (const part of ['-wal', '-shm'])
    if (existsSync(`${target}${part}`)) renameSync(`${target}${part}`, `${path}${part}`);
  return path;
}

function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  fsyncSync(folder);
  closeSync(folder);
}
