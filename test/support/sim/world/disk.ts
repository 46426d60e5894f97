/**
 * Simulated disks: the files of all machines of the world, by path. Several names may share one file. A
 * killed agent can no longer change files, and a full disk takes no further bytes.
 */
import { currentProcess, world } from './time.ts';

export class Inode {
  data: Buffer = Buffer.alloc(0);
  length = 0;
  mtimeMs = 0;

  append(bytes: Uint8Array, at = this.length): void {
    const end = at + bytes.length;
    if (end > this.data.length) {
      const larger = Buffer.alloc(Math.max(1024, 2 * end));
      this.data.copy(larger, 0, 0, this.length);
      this.data = larger;
    }
    this.data.set(bytes, at);
    this.length = Math.max(this.length, end);
    this.mtimeMs = world().nowMs;
  }

  get bytes(): Buffer {
    return this.data.subarray(0, this.length);
  }
}

export class FileError extends Error {
  readonly code: string;

  constructor(code: string, path: string) {
    super(`${code}: ${path}`);
    this.code = code;
  }
}

export class Disk {
  readonly files = new Map<string, Inode>();
  readonly folders = new Set<string>();
  full = false;
  /**
   * Path of the disk. If the engine stores its files on another disk, files can't be linked between the two.
   */
  readonly root: string;

  constructor(root: string) {
    this.root = root;
    disks.set(root, this);
  }

  makeFolder(path: string): void {
    const parts = path.split('/');
    for (let end = 2; end <= parts.length; end++) {
      const folder = parts.slice(0, end).join('/');
      if (this.folders.has(folder)) continue;
      this.demandSpace(folder);
      this.folders.add(folder);
    }
  }

  /** Returns the file at `path` and creates it if necessary. */
  make(path: string): Inode {
    const known = this.files.get(path);
    if (known) return known;
    if (!this.folders.has(folderOf(path))) throw new FileError('ENOENT', path);
    this.demandSpace(path);
    const inode = new Inode();
    this.files.set(path, inode);
    return inode;
  }

  /** Throws ENOSPC if the disk is full. */
  demandSpace(path: string): void {
    if (!this.full) return;
    world().count('disk: no space');
    throw new FileError('ENOSPC', path);
  }

  get(path: string): Inode {
    const inode = this.files.get(path);
    if (!inode) throw new FileError('ENOENT', path);
    return inode;
  }

  /** Paths below a folder, relative to it. */
  beneath(folder: string, recursive: boolean): string[] {
    const prefix = `${folder}/`;
    return [...this.folders, ...this.files.keys()]
      .filter((path) => path.startsWith(prefix))
      .map((path) => path.slice(prefix.length))
      .filter((path) => recursive || !path.includes('/'));
  }

  remove(path: string): void {
    for (const all of [this.files, this.folders])
      for (const one of [...all.keys()]) if (one === path || one.startsWith(`${path}/`)) all.delete(one);
  }
}

const disks = new Map<string, Disk>();
/** Open files by descriptor, for paths of `/proc/self/fd`. */
export const openFiles = new Map<number, { inode: Inode; disk: Disk }>();

/** Removes all disks, for a new world. */
export function resetDisks(): void {
  disks.clear();
  openFiles.clear();
}

/** Disk of the machine that the path begins with: `/<machine>/...`. */
export function diskOf(path: string): Disk {
  const disk = disks.get(path.split('/').slice(0, 2).join('/'));
  if (!disk) throw new FileError('ENOENT', path);
  return disk;
}

export const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/'));

/** Runs `effect` as a synchronous call of the current process. Returns `otherwise` if the process is dead. */
export function callSync<T>(label: string, otherwise: T, effect: () => T): T {
  if (!world().step(currentProcess(), label)) return otherwise;
  const result = effect();
  world().step(currentProcess(), `${label}, done`);
  return result;
}

/**
 * Runs `effect` as an asynchronous call of the current process. For a dead process the promise never settles.
 */
export async function callAsync<T>(label: string, effect: () => T): Promise<T> {
  const caller = currentProcess();
  if (!world().step(caller, label)) return new Promise<T>(() => {});
  const result = effect();
  if (!world().step(caller, `${label}, done`)) return new Promise<T>(() => {});
  return result;
}
