/** Docker Compose and Caddy of the tests: installed ones, else the packages of Debian, which need root. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { hasApt, installPackage, isRoot } from '../../../agent/local/debian.ts';
import { findProgram } from '../../../agent/system-programs.ts';

const run = promisify(execFile);

/** The words that begin a command of Compose. */
export async function ensureCompose(): Promise<string[]> {
  const plugin = await run('docker', ['compose', 'version']).then(
    () => true,
    () => false,
  );
  return plugin ? ['docker', 'compose'] : [await ensureProgram('docker-compose')];
}

/** The path of a program that is named as its package. */
export async function ensureProgram(name: string): Promise<string> {
  const found = await findProgram(name);
  if (found !== undefined) return found;
  if (!isRoot() || !(await hasApt()))
    throw new Error(`the tests of release/deploy need ${name}: install it (Debian: apt-get install ${name})`);
  await installPackage(name);
  const installed = await findProgram(name);
  if (installed === undefined) throw new Error(`${name} was installed, and is not on the PATH`);
  return installed;
}
