/**
 * Disk watch: periodically checks the free space and inodes of the folders for containers, images and logs.
 * Never frees space.
 */
import { statfs } from 'node:fs/promises';
import { resolve } from 'node:path';

export interface DiskSpace {
  freeBytes: number;
  /** Null if the file system has no fixed number of inodes. */
  freeInodesShare: number | null;
}

/** Undefined if the folder does not exist on this machine. */
export type DiskProbe = (folder: string) => Promise<DiskSpace | undefined>;

export interface DiskWatchOptions {
  folders: readonly string[];
  /** Less free space counts as low. 0: never low. */
  minBytes: number;
  probe: DiskProbe;
  /** Called after each check. Undefined if there is enough space. */
  found(low: string | undefined): void;
  everyMs: number;
}

/** A file system without free inodes takes no new file, however much space is free. */
const MIN_INODES_SHARE = 0.01;
/** The condition ends only when this multiple of the limit is free (CONT-13). */
const RECOVERY_FACTOR = 1.25;
const GIB = 2 ** 30;

export const probeDisk: DiskProbe = async (folder) => {
  try {
    const { bavail, bsize, files, ffree } = await statfs(folder);
    return { freeBytes: bavail * bsize, freeInodesShare: files > 0 ? ffree / files : null };
  } catch {
    return undefined;
  }
};

/** Checks once, then periodically. Returns a function that ends the checks. */
export async function watchDisk(options: DiskWatchOptions): Promise<() => void> {
  const { folders, minBytes, probe, found, everyMs } = options;
  if (minBytes === 0) return () => {};
  let low: string | undefined;
  let ended = false;
  let isChecking = false;
  const check = async () => {
    // Each call on a hanging file system occupies a thread, so only one may be in progress.
    if (isChecking) return;
    isChecking = true;
    const spaces = await Promise.all(folders.map(async (folder) => ({ folder, space: await probe(folder) })));
    isChecking = false;
    if (ended) return;
    low = spaces
      .map(({ folder, space }) => space && lowText(folder, space, minBytes, low !== undefined))
      .find(Boolean);
    found(low);
  };
  await check();
  const timer = setInterval(() => void check(), everyMs);
  return () => {
    ended = true;
    clearInterval(timer);
  };
}

/**
 * A folder on the engine's disk that this process sees. The data folder of an agent in a container is on a
 * volume of the engine.
 */
export const engineFolder = async (ofEngine: string, ofAgent: string, probe: DiskProbe): Promise<string> =>
  (await probe(ofEngine)) ? ofEngine : resolve(ofAgent);

/**
 * Returns a function that checks one folder in the same way. Always false if there is no folder on this
 * machine.
 */
export function isDiskLow(
  folder: string | undefined,
  minBytes: number,
  probe: DiskProbe,
): () => Promise<boolean> {
  let isLow = false;
  return async () => {
    const space = folder === undefined || minBytes === 0 ? undefined : await probe(folder);
    isLow = space !== undefined && lowText(folder ?? '', space, minBytes, isLow) !== undefined;
    return isLow;
  };
}

/**
 * The reason why a folder is low, e.g. `0.4 GiB free at /var/lib/docker`, or undefined. `wasLow`: it was low
 * before.
 */
export function lowText(
  folder: string,
  { freeBytes, freeInodesShare }: DiskSpace,
  minBytes: number,
  wasLow: boolean,
): string | undefined {
  const factor = wasLow ? RECOVERY_FACTOR : 1;
  if (freeBytes < minBytes * factor) return `${(freeBytes / GIB).toFixed(1)} GiB free at ${folder}`;
  if (freeInodesShare !== null && freeInodesShare < MIN_INODES_SHARE * factor)
    return `${(100 * freeInodesShare).toFixed(1)} % of the inodes free at ${folder}`;
  return undefined;
}
