/** The package as people get it: packed, and installed with npm in a folder. */
import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { VERSION } from '../../../control-plane/version.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const run = promisify(execFile);

export const DIST = join(ROOT, 'dist');
export const TARBALL = `berth-${VERSION}.tgz`;

/** Installs the tarball that is in `dist/` into `folder`; resolves to the prefix. */
export async function installPackage(folder: string): Promise<string> {
  const prefix = join(folder, 'installed');
  const words = ['install', '--global', '--prefix', prefix, join(DIST, TARBALL)];
  await run('npm', words, { cwd: folder });
  return prefix;
}

export async function makePackage(): Promise<void> {
  await run('npm', ['run', '--silent', 'pack'], { cwd: ROOT });
}
