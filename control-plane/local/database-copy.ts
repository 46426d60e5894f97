/** Copies of the embedded database on disk, complete or absent. */
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  rmSync,
} from 'node:fs';
import type { Db } from '../store/db/db.ts';
import { openEmbedded } from '../store/db/embedded.ts';
import { type Contents, inspect } from '../store/schema/backup.ts';
import { codesOf } from './disk-problems.ts';
import { urlOf } from './open-database.ts';

/** Now, as a part of a file's name. */
export const timeStamp = (): string => new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');

/**
 * Writes a consistent copy to `file`, which must not exist, readable by this user only. The copy gets that
 * name once it is on disk. Writers are not blocked.
 */
export async function writeCopy(db: Db, file: string): Promise<void> {
  await writeChecked(db, file, async () => {});
}

/**
 * As `writeCopy`, of the file `source`, which is not changed. Resolves to the contents of the copy (H770).
 */
export async function backUp(source: string, file: string): Promise<Contents> {
  const files = `${file}.${process.pid}.source`;
  const db = await openUnchanged(source, files);
  try {
    return await writeChecked(db, file, contentsOf);
  } finally {
    await db.close();
    removeDatabase(files);
  }
}

/** Copies the file of a database and its log, for this user only. No other process may use the database. */
export function copyDatabase(from: string, to: string): void {
  closeSync(openSync(to, 'wx', 0o600));
  copyFileSync(from, to);
  if (existsSync(`${from}-wal`)) copyFileSync(`${from}-wal`, `${to}-wal`, constants.COPYFILE_EXCL);
}

export function removeDatabase(path: string): void {
  for (const part of ['', '-wal', '-shm']) rmSync(`${path}${part}`, { force: true });
}

async function writeChecked<T>(db: Db, file: string, check: (path: string) => Promise<T>): Promise<T> {
  const unfinished = `${file}.${process.pid}.unfinished`;
  try {
    // The engine writes into an existing empty file, so the file gets its restrictive mode first.
    closeSync(openSync(unfinished, 'wx', 0o600));
    await db.query('VACUUM INTO ?', [unfinished]);
    chmodSync(unfinished, 0o600);
    const written = openSync(unfinished, 'r+');
    fsyncSync(written);
    closeSync(written);
    const result = await check(unfinished);
    // Unlike a rename, this fails if the file was created meanwhile.
    linkSync(unfinished, file);
    return result;
  } finally {
    removeDatabase(unfinished);
  }
}

/**
 * Readers share a file beside a database with a log. Where it is neither there nor can be created, no other
 * process has the database open, and copies of its files are read instead.
 */
async function openUnchanged(source: string, files: string): Promise<Db> {
  try {
    return await openEmbedded(urlOf(source), { isReadOnly: true });
  } catch (error) {
    if (!codesOf(error).some((code) => /^SQLITE_(CANTOPEN|READONLY|IOERR_SHM)/.test(code))) throw error;
  }
  try {
    copyDatabase(source, files);
    return await openEmbedded(urlOf(files));
  } catch (error) {
    removeDatabase(files);
    throw error;
  }
}

async function contentsOf(path: string): Promise<Contents> {
  const copy = await openEmbedded(urlOf(path), { isReadOnly: true });
  try {
    return await inspect(copy);
  } finally {
    await copy.close();
  }
}
