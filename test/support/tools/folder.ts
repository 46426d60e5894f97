/** Owns folders that tests may fill; whoever makes one removes it. */
import { mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Without symbolic links, as paths of volumes are compared. */
export const scratchFolder = async (prefix: string): Promise<string> =>
  realpath(await mkdtemp(join(tmpdir(), prefix)));
