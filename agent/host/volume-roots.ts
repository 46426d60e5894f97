/**
 * Volume roots: finds those on which programs gain privileges by their mode (setuid), or which hold working
 * device files, since containers may make either there. Never changes a mount.
 */
import { readFile, realpath } from 'node:fs/promises';

/** Options of a mount that take such files their effect. */
const REQUIRED = ['nosuid', 'nodev'];
/** The first process has the mounts of the engine's host, even if the agent has its own. */
const MOUNT_FILES = ['/proc/1/mountinfo', '/proc/self/mountinfo'];

export interface VolumeRootWatchOptions {
  roots: readonly string[];
  /** Called after each check. Undefined if no mount is at fault. */
  found(problem: string | undefined): void;
  everyMs: number;
}

/** Checks once, then periodically. Returns a function that ends the checks. */
export async function watchVolumeRoots({
  roots,
  found,
  everyMs,
}: VolumeRootWatchOptions): Promise<() => void> {
  if (roots.length === 0) return () => {};
  let ended = false;
  const check = async () => {
    const mounts = await readMounts();
    const paths = await Promise.all(roots.map((root) => realpath(root).catch(() => root)));
    if (!ended) found(mounts === undefined ? undefined : mountProblem(paths, mounts));
  };
  await check();
  const timer = setInterval(() => void check(), everyMs);
  return () => {
    ended = true;
    clearInterval(timer);
  };
}

/** Undefined on a system without such files. */
async function readMounts(): Promise<string | undefined> {
  for (const file of MOUNT_FILES) {
    const text = await readFile(file, 'utf8').catch(() => undefined);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** Names the mounts at fault, from the text of Linux's mountinfo. `roots` are paths without links. */
export function mountProblem(roots: readonly string[], mountinfo: string): string | undefined {
  const mounts = mountinfo.split('\n').flatMap((line) => {
    const [, , , , point, options] = line.split(' ');
    return point === undefined || options === undefined ? [] : [{ point: decodeOctal(point), options }];
  });
  const faults = new Map<string, string>();
  for (const root of roots) {
    const around = mounts.filter(({ point }) => isBeneath(root, point));
    // The last one of several mounts on the same folder is in effect.
    const longest = Math.max(...around.map(({ point }) => point.length));
    const own = around.findLast(({ point }) => point.length === longest);
    for (const mount of [own, ...mounts.filter(({ point }) => point !== root && isBeneath(point, root))]) {
      const missing = REQUIRED.filter((option) => mount && !mount.options.split(',').includes(option));
      if (mount && missing.length > 0) faults.set(mount.point, missing.join(' and '));
    }
  }
  if (faults.size === 0) return undefined;
  const named = Array.from(faults, ([point, missing]) => `${point} without ${missing}`).join(', ');
  return `containers may mount folders of this host that are mounted ${named}: mount them with these options, since files there could give a user of the host power over it`;
}

const isBeneath = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);

/** The kernel writes blanks and backslashes as octal numbers. */
const decodeOctal = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
