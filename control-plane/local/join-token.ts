/** Owns the join token of a control plane that was given none: made once, kept in the data folder, readable by its user only. */
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export function ownJoinToken(dataDir: string): string {
  const path = join(dataDir, 'join-token');
  try {
    // Fails where the file is there already: then that token counts.
    writeFileSync(path, randomBytes(24).toString('base64url'), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(path, 'utf8').trim();
}
