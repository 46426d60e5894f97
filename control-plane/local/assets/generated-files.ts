/**
 * Owns where Node finds files that have to be made first. They are made when one is first asked for in the life of this
 * process, by another one, so that it delays no other request and costs no memory.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ReadFile } from '../../http/files.ts';

const LIMIT_MS = 120_000;

/** `maker`: a program beside this file, that is told the folder. */
export function madeFiles(maker: string, folder: string): ReadFile {
  let made: Promise<unknown> | undefined;
  return async (name) => {
    made ??= promisify(execFile)(process.execPath, [join(import.meta.dirname, maker), folder], {
      timeout: LIMIT_MS,
    });
    try {
      await made;
    } catch (cause) {
      // The next one who asks finds it mended, perhaps.
      made = undefined;
      throw new Error(`files can't be made in ${folder}: ${cause}`, { cause });
    }
    return readFile(join(folder, name));
  };
}
