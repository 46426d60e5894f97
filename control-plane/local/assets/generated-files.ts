/**
 * Files that must be built before Node can serve them. A separate process builds them at the first request,
 * so that the build delays no other request and leaves no memory behind.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ReadFile } from '../../http/files.ts';
import { sharedFiles } from './shared-files.ts';

const LIMIT_MS = 120_000;

/** `program` is a file beside this one; its argument is the folder. */
export function generatedFiles(program: string, folder: string): ReadFile {
  let generated: Promise<unknown> | undefined;
  return sharedFiles(async (name) => {
    generated ??= promisify(execFile)(process.execPath, [join(import.meta.dirname, program), folder], {
      timeout: LIMIT_MS,
    });
    try {
      await generated;
    } catch (cause) {
      // The next request tries again.
      generated = undefined;
      throw new Error(`files can't be generated in ${folder}: ${cause}`, { cause });
    }
    return readFile(join(folder, name));
  });
}
