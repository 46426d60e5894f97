/** The documents for people on Node, from the folder `docs` of the checkout or the package. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sharedFiles } from './shared-files.ts';

export const GUIDES = join(import.meta.dirname, '../../../docs');

/** `name` has no path. */
export const guideFile = sharedFiles((name) => readFile(join(GUIDES, name)));
