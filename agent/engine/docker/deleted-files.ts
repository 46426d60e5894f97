/**
 * Finds the space of files that were removed while a container still has them open: no folder lists them
 * (CONT-70). Never opens a file.
 */
import { readdir, readFile, stat } from 'node:fs/promises';

/** A container and its first process. */
interface Running {
  id: string;
  pid: number;
}

/** Bytes on the file systems of the container's root and of `folder`. 0 where the agent may not look. */
export async function deletedBytes(running: Running, folder: string, limitMs: number): Promise<number> {
  const deadline = performance.now() + limitMs;
  const places = await Promise.all(
    [`/proc/${running.pid}/root/`, folder].map((path) => stat(path).catch(() => null)),
  );
  const devices = new Set(places.flatMap((place) => place?.dev ?? []));
  const bytes = new Map<string, number>();
  for (const process of await processesOf(running)) {
    const files = `/proc/${process}/fd`;
    for (const name of await readdir(files).catch(() => [])) {
      if (performance.now() > deadline) return sum(bytes.values());
      const file = await stat(`${files}/${name}`).catch(() => undefined);
      if (file?.nlink !== 0 || !devices.has(file.dev)) continue;
      bytes.set(`${file.dev} ${file.ino}`, file.blocks * 512);
    }
  }
  return sum(bytes.values());
}

/** The processes in a container's control group. Empty if the engine numbers processes in another way. */
async function processesOf({ id, pid }: Running): Promise<string[]> {
  const groups = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
  // Either one hierarchy, whose line has no controller, or one for each controller.
  const [, controller, path] = /^\d+:(memory|):(\/.+)$/m.exec(groups) ?? [];
  if (controller === undefined || !path?.includes(id)) return [];
  const list = `/sys/fs/cgroup/${controller}${path}/cgroup.procs`;
  return (await readFile(list, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
}

const sum = (numbers: Iterable<number>): number => [...numbers].reduce((total, one) => total + one, 0);
