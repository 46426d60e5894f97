/**
 * Folder and control groups of a cluster, which lie outside of its namespaces. Both are named after the
 * process that made them, and those of processes that were killed are removed.
 */
import { execFile } from 'node:child_process';
import { mkdir, open, readdir, readFile, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { systemPath } from '../../../agent/system-programs.ts';
import { eventually } from '../tools/eventually.ts';

const PREFIX = 'berth-cluster-';
const CGROUPS = '/sys/fs/cgroup';

const env = { ...process.env, PATH: systemPath() };
const run = (program: string, ...args: string[]) => promisify(execFile)(program, args, { env });

let made = 0;

/** Makes a new name and an empty `folderOf` it. */
export async function newName(): Promise<string> {
  made += 1;
  const name = `${PREFIX}${process.pid}-${made}`;
  await mkdir(folderOf(name));
  return name;
}

/** The path is short, since paths of sockets are limited to 107 characters. */
export const folderOf = (name: string): string => join(tmpdir(), name);

/** Parent of the control groups of a host's containers, in dockerd's notation. */
export const cgroupOf = (name: string): string => `/${name}`;

/** Mounts a file system of its own on the folder: a file of this size beside it. */
export async function mountDisk(folder: string, bytes: number): Promise<void> {
  const image = `${folder}.disk`;
  const file = await open(image, 'w');
  await file.truncate(bytes);
  await file.close();
  await mkdir(folder, { recursive: true });
  await run('mkfs.ext4', '-q', '-m', '0', image);
  await run('mount', '-o', 'loop', image, folder);
}

/** Removes the folder and the control groups of a name. All their processes must have ended. */
export async function removeAll(name: string): Promise<void> {
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').map((line) => line.split(' ')[1]);
  const isOurs = (mount: string) => mount === folderOf(name) || mount.startsWith(`${folderOf(name)}/`);
  for (const mount of mounts) if (mount && isOurs(mount)) await run('umount', '-l', mount);
  await rm(folderOf(name), { recursive: true, force: true, maxRetries: 5 });
  // Either one hierarchy or, below it, one for each controller.
  const parents = [CGROUPS, ...(await foldersIn(CGROUPS))];
  for (const parent of parents) await eventually(() => removeGroups(join(parent, name)));
}

/** Removes what killed processes have left behind. */
export async function removeLeftovers(): Promise<void> {
  const places = [tmpdir(), CGROUPS, ...(await foldersIn(CGROUPS))];
  const names = new Set((await Promise.all(places.map((place) => readdir(place).catch(() => [])))).flat());
  for (const name of names) {
    const pid = name.startsWith(PREFIX) && Number.parseInt(name.slice(PREFIX.length), 10);
    if (pid && !lives(pid)) await removeAll(name);
  }
}

async function foldersIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
}

/**
 * Removes a control group and its children by rmdir, which fails while a process in the group is still
 * ending.
 */
async function removeGroups(path: string): Promise<true> {
  for (const child of await foldersIn(path)) await removeGroups(child);
  await rmdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  return true;
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
