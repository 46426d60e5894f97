/** Temporary folders for tests. The caller removes them. */
import { mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The path has no symbolic links, because paths of volumes are compared. */
export const scratchFolder = async (prefix: string): Promise<string> =>
  realpath(await mkdtemp(join(tmpdir(), prefix)));
