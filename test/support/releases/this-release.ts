/**
 * The release of this checkout, and its package as people get it: packed, and installed with npm. Also the
 * global set-up of the vitest project that tests it: all files of a run share what the first one makes.
 */
import { execFile } from 'node:child_process';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { replace } from '../../../control-plane/local/assets/bundle.ts';
import { VERSION } from '../../../control-plane/version.ts';
import { eventually } from '../tools/eventually.ts';
import { scratchFolder } from '../tools/folder.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const SHARED = 'BERTH_TEST_RELEASE';
/** Less than a file may take to set itself up. */
const MAX_MAKING_MS = 290_000;
const run = promisify(execFile);

/** Has the files of the release. */
export const DIST = join(ROOT, 'dist');
export const TARBALL = `berth-${VERSION}.tgz`;

export interface Release {
  /** Where npm has installed the package: `bin/` and `lib/node_modules/`. */
  prefix: string;
  /** The public key that its agent is signed for, base64url. */
  key: string;
  /** The checksum of the package that somebody with another umask makes. */
  packedByOthers: string;
}

export default async function setup(): Promise<() => Promise<void>> {
  const folder = await scratchFolder('berth-release-');
  process.env[SHARED] = folder;
  return () => rm(folder, { recursive: true, force: true });
}

/**
 * Makes and installs it, which takes half a minute. Only the first test file of a run does so: those beside
 * it wait for it, and get its error if it fails.
 */
export async function thisRelease(): Promise<Release> {
  const folder = process.env[SHARED];
  if (!folder) throw new Error(`${SHARED} is not set: a vitest project without this set-up`);
  const note = join(folder, 'release.json');
  if (await isFirst(join(folder, 'begun'))) {
    const made = await makeRelease(folder).catch((error) => ({ error: String(error) }));
    await replace(note, JSON.stringify(made));
  }
  const text = await eventually(() => readFile(note, 'utf8'), MAX_MAKING_MS);
  const made = JSON.parse(text) as Release | { error: string };
  if ('error' in made) throw new Error(`the release was not made: ${made.error}`);
  return made;
}

/** True for one caller of all processes. */
const isFirst = (mark: string): Promise<boolean> =>
  mkdir(mark).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false;
      throw error;
    },
  );

async function makeRelease(folder: string): Promise<Release> {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const keyFile = join(folder, 'release-key.pem');
  await writeFile(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const agent = join(folder, 'agent');
  await run('npm', ['run', '--silent', 'sign-agent', '--', keyFile, agent], { cwd: ROOT });
  await run('/bin/sh', ['-c', 'umask 077; npm run --silent pack -- "$0"', agent], { cwd: ROOT });
  const packedByOthers = await digestOf(TARBALL);
  await run('npm', ['run', '--silent', 'release', '--', '--draft', '--key', keyFile], { cwd: ROOT });
  const prefix = join(folder, 'installed');
  const empty = join(folder, 'empty');
  await mkdir(empty);
  await run('npm', ['install', '--global', '--prefix', prefix, join(DIST, TARBALL)], { cwd: empty });
  return { prefix, key: publicKey.export({ format: 'jwk' }).x ?? '', packedByOthers };
}

/** SHA-256 of a file of the release, hexadecimal. */
export const digestOf = async (name: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(join(DIST, name)))
    .digest('hex');
