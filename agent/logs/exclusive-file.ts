/** Files that mark something by their existence. Only one process creates such a file. */
import { writeFileSync } from 'node:fs';

/** Creates an empty file. False if the file exists. */
export function writeIfAbsent(path: string): boolean {
  try {
    writeFileSync(path, '', { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
