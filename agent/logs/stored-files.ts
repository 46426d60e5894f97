/** Files of stored output: made as links or copies, opened, and dated. */
import { copyFile, type FileHandle, link, open, readdir, rename, rm, stat } from 'node:fs/promises';

const COPY_BYTES = 1 << 20;

/** Names an open file, whose own name may be gone. */
export const openPath = ({ fd }: FileHandle): string => `/proc/self/fd/${fd}`;

/** A further handle of an open file. Undefined if `source` is closed before it is there. */
export async function reopen(source: FileHandle): Promise<FileHandle | undefined> {
  const file = await openIfThere(openPath(source));
  if (source.fd >= 0) return file;
  await file?.close();
  return undefined;
}

/**
 * Calls `use` with a path of an open file, unless that is closed. By a handle of its own: once `source` is
 * closed, its number may name the output of another service.
 */
export async function useReopened(source: FileHandle, use: (path: string) => Promise<void>): Promise<void> {
  const file = await reopen(source);
  if (file) await use(openPath(file)).finally(() => file.close());
}

/** Names of files that are not yet logs, and stay if the agent is killed before it renames them. */
const [LINK, COPY] = ['.link', '.copy'];

export const isUnfinished = (path: string): boolean => /(^|\/)\d+\/\d+\.log\.(link|copy)$/.test(path);

/** A rename between two links of one file does nothing, hence the last line. */
export async function replaceByLink(file: string, path: string): Promise<void> {
  const unfinished = `${path}${LINK}`;
  await rm(unfinished, { force: true });
  await link(file, unfinished);
  await rename(unfinished, path);
  await rm(unfinished, { force: true });
}

/**
 * Time of the latest file in a folder. Infinity, which counts as just now, if the folder vanishes meanwhile
 * or is not a folder.
 */
export async function lastWrittenMs(folder: string): Promise<number> {
  try {
    const files = await readdir(folder);
    const times = await Promise.all(files.map(async (file) => (await stat(`${folder}/${file}`)).mtimeMs));
    return Math.max(0, ...times);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

export async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch {
    return undefined;
  }
}

/**
 * Copies an open file from `first` on. The kernel copies a whole file: the bytes never enter this process,
 * whose memory would grow by them for a while. It would fill the hole before `first` with zeros.
 */
export async function copyFrom(source: FileHandle, first: number, path: string): Promise<void> {
  const unfinished = `${path}${COPY}`;
  if (first === 0) await copyFile(openPath(source), unfinished);
  else await copyRest(source, first, unfinished);
  await rename(unfinished, path);
}

async function copyRest(source: FileHandle, first: number, path: string): Promise<void> {
  const target = await open(path, 'w');
  try {
    const buffer = Buffer.allocUnsafe(COPY_BYTES);
    for (let at = first; ; ) {
      const { bytesRead } = await source.read(buffer, 0, COPY_BYTES, at);
      if (bytesRead === 0) return;
      await target.write(buffer, 0, bytesRead, at);
      at += bytesRead;
    }
  } finally {
    await target.close();
  }
}
