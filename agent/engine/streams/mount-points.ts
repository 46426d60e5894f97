/**
 * Finds the mounts of a container, and those that copies must not cross (P270): all but its own volumes and
 * the files that the engine makes for its /etc. A container can't change its mounts, since it lacks
 * SYS_ADMIN.
 */
import { readFile } from 'node:fs/promises';
import type { ContainerInspectInfo } from 'dockerode';

/** A mount as the kernel shows it: where it is in the container, and what of a file system it shows. */
interface Mount {
  point: string;
  root: string;
  type: string;
}

/**
 * Mount points in the order of the mounts, each after a mark: `+` if copies may cross it, else `-`. Throws an
 * Error for people if they can't be read.
 */
export async function markedMounts(info: ContainerInspectInfo): Promise<string[]> {
  let text: string;
  try {
    text = await readFile(`/proc/${info.State.Pid}/mountinfo`, 'utf8');
  } catch (cause) {
    throw new Error('the agent can not read the mounts of the container', { cause });
  }
  return markedIn(text, info);
}

export type Mounted = Pick<ContainerInspectInfo, 'Id' | 'Mounts' | 'HostConfig'>;

/** `mountinfo`: the file of that name of the container's first process. */
export function markedIn(mountinfo: string, { Id, Mounts, HostConfig }: Mounted): string[] {
  const given = new Set((HostConfig.Mounts ?? []).map(({ Target }) => Target));
  const own = Mounts.flatMap(({ Type, Name, Destination }) =>
    Type === 'volume' && Name && !given.has(Destination) ? `/volumes/${Name}/_data` : [],
  );
  const engine = ['hosts', 'hostname', 'resolv.conf'].map((name) => `/containers/${Id}/${name}`);
  const isOwn = ({ point, root, type }: Mount) =>
    [...own, ...engine].some((end) => root.endsWith(end)) ||
    (point === '/dev/shm' && root === '/' && type === 'tmpfs');
  return mountinfo
    .split('\n')
    .filter((line) => line !== '')
    .map(mountOf)
    .filter(({ point }) => point !== '/')
    .map((mount) => `${isOwn(mount) ? '+' : '-'}${mount.point}`);
}

function mountOf(line: string): Mount {
  const fields = line.split(' ');
  const type = fields[fields.indexOf('-') + 1] ?? '';
  return { point: unescaped(fields[4] ?? ''), root: unescaped(fields[3] ?? ''), type };
}

/** Blanks and the like are octal numbers. */
function unescaped(text: string): string {
  const bytes = text.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
  return text === bytes ? text : Buffer.from(bytes, 'latin1').toString();
}
