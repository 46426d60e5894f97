/**
 * The program slapd for tests: Debian's package, unpacked and never installed, since its installation would
 * start a server on all addresses.
 */
import { execFile } from 'node:child_process';
import { access, readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { hasApt, installPackage, isRoot, unpackPackage } from '../../../agent/local/debian.ts';
import { succeeds } from '../tools/succeeds.ts';

const run = promisify(execFile);

const PACKAGE = resolve('.berth/slapd');

/** The unpacked package. */
export interface Slapd {
  program: string;
  /** Folder of the backends. */
  modules: string;
  /** Folder of the schemas. */
  schemas: string;
  /** Settings for its own libraries. */
  env: Record<string, string>;
}

/** Unpacks slapd, and installs the libraries that it lacks. `say` reports long steps. */
export async function ensureSlapd(say: (line: string) => void = () => {}): Promise<Slapd> {
  const program = `${PACKAGE}/usr/sbin/slapd`;
  if (!(await succeeds(access(program)))) {
    if (!(await hasApt())) throw new Error('the tests of LDAP need slapd of Debian, and there is no apt-get');
    say('Unpacking slapd');
    await unpackPackage('slapd', PACKAGE);
  }
  const env = { LD_LIBRARY_PATH: await libraries() };
  if (await lacksLibraries(program, env)) {
    if (!isRoot()) throw new Error('slapd lacks libraries: install those that its package depends on');
    say('Installing the libraries of slapd');
    await installPackage(...(await libraryPackages()));
    if (await lacksLibraries(program, env)) throw new Error('slapd still lacks libraries');
  }
  return { program, modules: `${PACKAGE}/usr/lib/ldap`, schemas: `${PACKAGE}/etc/ldap/schema`, env };
}

/** The folder with the libraries of the package, which has the name of the architecture. */
async function libraries(): Promise<string> {
  const folders = await readdir(`${PACKAGE}/usr/lib`);
  return folders
    .filter((name) => name !== 'ldap')
    .map((name) => `${PACKAGE}/usr/lib/${name}`)
    .join(':');
}

async function lacksLibraries(program: string, env: Record<string, string>): Promise<boolean> {
  const { stdout } = await run('ldd', [program], { env: { ...process.env, ...env } });
  return stdout.includes('not found');
}

/** The libraries that the package depends on, whose names differ between releases of Debian. */
async function libraryPackages(): Promise<string[]> {
  const { stdout } = await run('apt-cache', ['depends', '--important', 'slapd']);
  return [...stdout.matchAll(/^ +\|?(?:Pre)?Depends: (lib\S+)$/gm)].flatMap(([, name = '']) =>
    name.includes('mime-base64') ? [] : [name],
  );
}
