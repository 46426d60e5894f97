/**
 * Owns whether this host is low on disk: room and inodes of the folders that containers, images and logs are in, looked
 * at every so often. Never frees any.
 */
import { statfs } from 'node:fs/promises';

export interface DiskSpace {
  freeBytes: number;
  /** Null where the file system has no fixed number of inodes. */
  freeInodesShare: number | null;
}

/** Undefined where there is no such folder on this machine. */
export type DiskProbe = (folder: string) => Promise<DiskSpace | undefined>;

export interface DiskWatchOptions {
  folders: readonly string[];
  /** Less than this is low; 0: nothing is. */
  minBytes: number;
  probe: DiskProbe;
  /** Told after each look; undefined where there is room. */
  found(low: string | undefined): void;
  everyMs: number;
}

/** A file system without inodes takes no new file, however much room it has. */
const MIN_INODES_SHARE = 0.01;
/** What was low stays low until there is this much more than the least. */
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

/** Looks once, and from then on; returns what ends it. */
export async function watchDisk(options: DiskWatchOptions): Promise<() => void> {
  const { folders, minBytes, probe, found, everyMs } = options;
  if (minBytes === 0) return () => {};
  let low: string | undefined;
  let ended = false;
  let isChecking = false;
  const check = async () => {
    // A file system that hangs is not asked again while it does: each such call keeps a thread.
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

/** In what way a folder is low, e.g. `0.4 GiB free at /var/lib/docker`; `wasLow` where it was before. */
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
