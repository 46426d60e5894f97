/** The part of `node:fs/promises` that the agent uses, on the simulated disk of its machine. */
import { Writable } from 'node:stream';
import { callAsync, type Disk, diskOf, FileError, type Inode, openFiles } from '../world/disk.ts';

let nextNumber = 3;

export class FileHandle {
  readonly fd = nextNumber++;
  readonly #inode: Inode;
  readonly #disk: Disk;

  constructor(inode: Inode, disk: Disk) {
    this.#inode = inode;
    this.#disk = disk;
    openFiles.set(this.fd, { inode, disk });
  }

  async read(buffer: Buffer, at: number, length: number, position: number) {
    return callAsync('read', () => {
      const bytesRead = this.#inode.bytes.copy(buffer, at, position, position + length);
      return { bytesRead, buffer };
    });
  }

  async stat() {
    return callAsync('stat', () => statOf(this.#inode, this.#disk));
  }

  async truncate(length: number): Promise<void> {
    return callAsync('truncate', () => {
      this.#inode.length = Math.min(this.#inode.length, length);
    });
  }

  async close(): Promise<void> {
    openFiles.delete(this.fd);
  }

  createWriteStream(): Writable {
    const inode = this.#inode;
    const disk = this.#disk;
    const write = (bytes: Buffer, _: unknown, done: (error?: Error | null) => void) => {
      callAsync('append', () => {
        disk.demandSpace('the log');
        inode.append(bytes);
      }).then(() => done(), done);
    };
    return new Writable({ write, final: (done) => void this.close().then(() => done(), done) });
  }
}

export async function open(path: string, flags: 'r' | 'a+'): Promise<FileHandle> {
  return callAsync('open', () => {
    const { inode, disk } = sourceOf(path, flags === 'a+');
    return new FileHandle(inode, disk);
  });
}

export async function stat(path: string) {
  return callAsync('stat', () => {
    const { inode, disk } = sourceOf(path, false);
    return statOf(inode, disk);
  });
}

export async function readdir(path: string): Promise<string[]> {
  return callAsync('readdir', () => diskOf(path).beneath(path, false));
}

export async function link(from: string, to: string): Promise<void> {
  return callAsync('link', () => {
    const disk = diskOf(to);
    if (disk !== diskOf(from)) throw new FileError('EXDEV', from);
    const inode = disk.get(from);
    if (disk.files.has(to)) throw new FileError('EEXIST', to);
    disk.demandSpace(to);
    disk.files.set(to, inode);
  });
}

/** As POSIX requires, a rename between two names of one file does nothing. */
export async function rename(from: string, to: string): Promise<void> {
  return callAsync('rename', () => {
    const disk = diskOf(from);
    const inode = disk.get(from);
    if (disk.files.get(to) === inode) return;
    disk.files.set(to, inode);
    disk.files.delete(from);
  });
}

export async function rm(path: string, { force = false } = {}): Promise<void> {
  return callAsync('rm', () => {
    if (!force) diskOf(path).get(path);
    diskOf(path).remove(path);
  });
}

export async function copyFile(from: string, to: string): Promise<void> {
  return callAsync('copy', () => {
    const { inode } = sourceOf(from, false);
    const disk = diskOf(to);
    const copy = disk.make(to);
    disk.demandSpace(to);
    copy.length = 0;
    copy.append(inode.bytes);
  });
}

const statOf = (inode: Inode, disk: Disk) => ({
  size: inode.length,
  mtimeMs: inode.mtimeMs,
  nlink: [...disk.files.values()].filter((other) => other === inode).length,
});

function sourceOf(path: string, make: boolean): { inode: Inode; disk: Disk } {
  const [, number] = /^\/proc\/self\/fd\/(\d+)$/.exec(path) ?? [];
  if (number !== undefined) {
    const opened = openFiles.get(Number(number));
    if (!opened) throw new FileError('ENOENT', path);
    return opened;
  }
  const disk = diskOf(path);
  return { inode: make ? disk.make(path) : disk.get(path), disk };
}
