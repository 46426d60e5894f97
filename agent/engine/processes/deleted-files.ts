/**
 * Finds the space of files that were removed while a container still has them open: no folder lists them
 * (CONT-70). Never opens a file.
 */
import { readdir, stat } from 'node:fs/promises';
import { processesOf, type Running } from './container-processes.ts';

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

const sum = (numbers: Iterable<number>): number => [...numbers].reduce((total, one) => total + one, 0);
