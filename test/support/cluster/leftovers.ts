/**
 * Owns what a cluster keeps outside of its namespaces: a folder and control groups, both named after the process that made
 * them. Removes those of processes that have ended without doing so.
 */
import { mkdir, readdir, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../tools/eventually.ts';

const PREFIX = 'berth-cluster-';
const CGROUPS = '/sys/fs/cgroup';

let made = 0;

/** A new name; `folderOf` it is there and empty. */
export async function newName(): Promise<string> {
  made += 1;
  const name = `${PREFIX}${process.pid}-${made}`;
  await mkdir(folderOf(name));
  return name;
}

/** Short, since paths of sockets end at 107 characters. */
export const folderOf = (name: string): string => join(tmpdir(), name);

/** The parent of the control groups of a host's containers, as dockerd takes it. */
export const cgroupOf = (name: string): string => `/${name}`;

/** Removes what is named so; all its processes have ended. */
export async function removeAll(name: string): Promise<void> {
  await rm(folderOf(name), { recursive: true, force: true, maxRetries: 5 });
  // One hierarchy, or one for each controller beneath.
  const parents = [CGROUPS, ...(await foldersIn(CGROUPS))];
  for (const parent of parents) await eventually(() => removeGroups(join(parent, name)));
}

/** Removes what is left of processes that were killed. */
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

/** A control group goes by rmdir, its children first, and only where no process of it is still dying. */
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
