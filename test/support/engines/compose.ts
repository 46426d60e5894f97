/** Docker Compose and Caddy of the tests: installed ones, else the packages of Debian, which need root. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ensureProgram } from '../tools/debian-program.ts';
import { succeeds } from '../tools/succeeds.ts';

const run = promisify(execFile);

/** The words that begin a command of Compose. */
export async function ensureCompose(): Promise<string[]> {
  const hasPlugin = await succeeds(run('docker', ['compose', 'version']));
  return hasPlugin ? ['docker', 'compose'] : [await ensureProgram('docker-compose')];
}
