/** A file that one process of this machine holds while it changes another file. */
import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';

/** The work takes some milliseconds, so an older file is that of a process that was killed. */
const STALE_MS = 10_000;
const MAX_WAIT_MS = 30_000;
const RETRY_MS = 10;

/** Runs `work` while no other process holds the file. Throws if the file can't be had. */
export async function whileLocked<T>(path: string, work: () => Promise<T>): Promise<T> {
  const holder = randomUUID();
  const untilMs = performance.now() + MAX_WAIT_MS;
  while (!(await take(path, holder))) {
    if (performance.now() > untilMs)
      throw new Error(`Another process holds ${path}: try again, or remove it.`);
    await removeStale(path);
    await pause(RETRY_MS * (1 + Math.random()));
  }
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

/** False if another process holds the file. */
async function take(path: string, holder: string): Promise<boolean> {
  try {
    await writeFile(path, holder, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Moves the file first, and puts it back if it is not the stale one any more. */
async function removeStale(path: string): Promise<void> {
  const holder = await readFile(path, 'utf8').catch(() => undefined);
  const age = await stat(path).then(
    ({ mtimeMs }) => Date.now() - mtimeMs,
    () => 0,
  );
  if (holder === undefined || Math.abs(age) < STALE_MS) return;
  const moved = `${path}.${randomUUID()}`;
  await rename(path, moved).catch(() => {});
  const found = await readFile(moved, 'utf8').catch(() => holder);
  if (found !== holder) await link(moved, path).catch(() => {});
  await rm(moved, { force: true });
}
