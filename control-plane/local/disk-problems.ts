/** Names the folder whose disk is full or read-only, where an error of the system or of SQLite does not. */
import { statfsSync } from 'node:fs';

/** An error that a person can act on. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/**
 * Runs `action`, which writes to `folder` only. `consequence` ends the message of an error because of the
 * disk.
 */
export async function namingDisk<T>(
  folder: string,
  consequence: string,
  action: () => Promise<T>,
): Promise<T> {
  try {
    return await action();
  } catch (error) {
    const problem = diskProblem(error, folder);
    if (problem === undefined) throw error;
    throw new UsageError(`${problem} ${consequence}`, { cause: error });
  }
}

/** Undefined for an error that is not because of the disk of `folder`. */
export function diskProblem(error: unknown, folder: string): string | undefined {
  const codes = codesOf(error);
  if (codes.includes('EROFS')) return `The disk of ${folder} is read-only.`;
  const hasNoSpace =
    codes.some((code) => /^(ENOSPC|EDQUOT|SQLITE_FULL)/.test(code)) ||
    (codes.some((code) => code.startsWith('SQLITE_IOERR')) && freeBytes(folder) < LITTLE_BYTES);
  if (!hasNoSpace) return undefined;
  return `The disk of ${folder} is full (${freeBytes(folder)} bytes are free, or less by a quota): make room there.`;
}

/** Codes of an error and of its causes. */
export function codesOf(error: unknown): string[] {
  const codes: string[] = [];
  for (let one = error; one instanceof Error; one = one.cause)
    if ('code' in one && typeof one.code === 'string') codes.push(one.code);
  return codes;
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** SQLite reports a failed write to a full disk as one of its errors of reading and writing, too. */
const LITTLE_BYTES = 2 ** 20;
