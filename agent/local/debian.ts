/** Runs apt-get: installs or unpacks a Debian package. Never decides that a package is needed. */
import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram, foreignEnv, systemPath } from '../system-programs.ts';

const LOCK_WAIT_S = 120;

export const isRoot = (): boolean => process.getuid?.() === 0;

export const hasApt = (): Promise<boolean> => findProgram('apt-get').then((path) => path !== undefined);

/** Installs packages and their dependencies, without starting their services. Requires root. */
export async function installPackage(...names: string[]): Promise<void> {
  await withFreshLists(['install', '--yes', '--no-install-recommends', ...names]);
}

/**
 * Unpacks a package below `folder` without installing it. Requires root only if apt has no package lists yet.
 */
export async function unpackPackage(name: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const before = `${name}_`;
  await withFreshLists(['download', name], folder);
  await run(
    'sh',
    ['-c', 'for deb in "$1"*.deb; do dpkg-deb --extract "$deb" . && rm "$deb"; done', 'sh', before],
    folder,
  );
}

/**
 * Runs apt-get, and once more with new package lists if that fails: missing or old lists are the usual cause.
 */
async function withFreshLists(args: string[], folder?: string): Promise<void> {
  try {
    await apt(args, folder);
  } catch (error) {
    if (!isRoot()) throw error;
    await apt(['update']);
    await apt(args, folder);
  }
}

/** apt itself waits for dpkg's lock, but not for its other locks. */
async function apt(args: string[], folder?: string): Promise<void> {
  const options = ['-q', '-o', `DPkg::Lock::Timeout=${LOCK_WAIT_S}`, '-o', 'Dpkg::Use-Pty=0'];
  for (let waitedS = 0; ; waitedS += 2) {
    try {
      return await run('apt-get', [...options, ...args], folder);
    } catch (error) {
      const locked = error instanceof Error && /Could not get lock|Unable to lock/.test(error.message);
      if (!locked || waitedS >= LOCK_WAIT_S) throw error;
      await sleep(2000);
    }
  }
}

/** Asks no questions. In runlevel 1, which the environment claims, a package starts no service. */
function run(program: string, args: string[], folder = '.'): Promise<void> {
  const env = {
    ...foreignEnv(process.env),
    PATH: systemPath(),
    DEBIAN_FRONTEND: 'noninteractive',
    RUNLEVEL: '1',
    LC_ALL: 'C',
  };
  return new Promise((done, fail) => {
    execFile(program, args, { cwd: resolve(folder), env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      if (!error) return done();
      const output = `${stdout}\n${stderr}`.trim().split('\n').slice(-12).join('\n');
      fail(new Error(`${program} ${args.join(' ')} failed:\n${output}`, { cause: error }));
    });
  });
}
