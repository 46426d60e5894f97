/** The part of `node:fs` that the agent uses, on the simulated disk of its machine. */
import { callSync, diskOf, FileError } from '../world/disk.ts';

export function mkdirSync(path: string): void {
  callSync('mkdir', undefined, () => diskOf(path).makeFolder(path));
}

export function readdirSync(path: string, { recursive = false } = {}): string[] {
  return callSync<string[]>('readdir', [], () => diskOf(path).beneath(path, recursive));
}

export function rmSync(path: string, { force = false } = {}): void {
  callSync('rm', undefined, () => {
    if (!force) diskOf(path).get(path);
    diskOf(path).remove(path);
  });
}

export function writeFileSync(path: string, text: string, { flag = 'w' } = {}): void {
  callSync('write', undefined, () => {
    const disk = diskOf(path);
    if (flag === 'wx' && disk.files.has(path)) throw new FileError('EEXIST', path);
    const inode = disk.make(path);
    if (text !== '') disk.demandSpace(path);
    inode.length = 0;
    inode.append(Buffer.from(text));
  });
}

export function readFileSync(path: string): string {
  return callSync('read', '', () => String(diskOf(path).get(path).bytes));
}

export function renameSync(from: string, to: string): void {
  callSync('rename', undefined, () => {
    const disk = diskOf(from);
    disk.files.set(to, disk.get(from));
    disk.files.delete(from);
  });
}
