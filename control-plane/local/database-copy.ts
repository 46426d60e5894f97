/** Copies of the embedded database on disk, complete or absent. */
import { chmodSync, closeSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs';
import type { Db } from '../store/db/db.ts';

/** Now, as a part of a file's name. */
export const timeStamp = (): string => new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');

/**
 * Writes a consistent copy to `file`, which must not exist, readable by this user only. The copy gets that
 * name once it is on disk. Writers are not blocked.
 */
export async function writeCopy(db: Db, file: string): Promise<void> {
  const unfinished = `${file}.${process.pid}.unfinished`;
  try {
    // The engine writes into an existing empty file, so the file gets its restrictive mode first.
    closeSync(openSync(unfinished, 'wx', 0o600));
    await db.query('VACUUM INTO ?', [unfinished]);
    chmodSync(unfinished, 0o600);
    const written = openSync(unfinished, 'r+');
    fsyncSync(written);
    closeSync(written);
    // Unlike a rename, this fails if the file was created meanwhile.
    linkSync(unfinished, file);
  } finally {
    for (const path of [unfinished, `${unfinished}-wal`, `${unfinished}-shm`]) rmSync(path, { force: true });
  }
}
