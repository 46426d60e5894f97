/**
 * A root file system with Debian's jupyter-notebook, for images of tests: the package with all that it
 * depends on, unpacked and never installed. It is made once, and kept in the checkout.
 */
import { execFile } from 'node:child_process';
import { access, mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { hasApt, isRoot } from '../../../agent/local/debian.ts';
import { foreignEnv, systemPath } from '../../../agent/system-programs.ts';
import { scratchFolder } from '../tools/folder.ts';
import { succeeds } from '../tools/succeeds.ts';

/** What the image runs, and what shells and copies need. */
const PACKAGES = ['jupyter-notebook', 'bash', 'dash', 'coreutils', 'tar'];
/** Folders that nothing reads at run time, a third of all files. */
const LEFT_OUT = ['doc', 'man', 'locale', 'info', 'lintian', 'bug'];
const ARCHIVE = resolve('.berth/notebook.tar');
/** Folders of /usr that the root has links to. */
const MERGED = ['bin', 'sbin', 'lib', 'lib64'];

const env = {
  ...foreignEnv(process.env),
  PATH: systemPath(),
  DEBIAN_FRONTEND: 'noninteractive',
  LC_ALL: 'C',
};
const run = (program: string, ...args: string[]) =>
  promisify(execFile)(program, args, { env, maxBuffer: 2 ** 26 });

/** Path of the archive. Making it requires root and Debian, and takes half a minute; `say` reports that. */
export async function ensureNotebookRoot(say: (line: string) => void = () => {}): Promise<string> {
  if (await succeeds(access(ARCHIVE))) return ARCHIVE;
  if (!isRoot() || !(await hasApt()))
    throw new Error('the test of a notebook needs packages of Debian, and root to unpack them');
  say('Unpacking jupyter-notebook, which takes half a minute');
  const folder = await scratchFolder('berth-notebook-');
  try {
    const packages = await download(join(folder, 'packages'));
    const root = join(folder, 'root');
    await makeRoot(root);
    for (const path of packages) await unpack(path, root);
    await mkdir(resolve('.berth'), { recursive: true });
    await run('tar', '-cf', `${ARCHIVE}.new`, '-C', root, '.');
    await rename(`${ARCHIVE}.new`, ARCHIVE);
    return ARCHIVE;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Downloads the packages as for a machine that has none. Returns their paths. */
async function download(folder: string): Promise<string[]> {
  await mkdir(join(folder, 'partial'), { recursive: true });
  const status = join(folder, 'status');
  await writeFile(status, '');
  const options = [
    `Dir::State::status=${status}`,
    `Dir::Cache::archives=${folder}`,
    'APT::Sandbox::User=root',
    // Nothing is installed, so another apt-get may run beside this one.
    'Debug::NoLocking=true',
  ];
  const install = () =>
    run(
      'apt-get',
      ...options.flatMap((option) => ['-o', option]),
      ...['--quiet', '--yes', '--no-install-recommends', '--download-only', 'install', ...PACKAGES],
    );
  // Missing or old lists are the usual cause.
  await install().catch(async () => {
    await run('apt-get', 'update');
    await install();
  });
  const names = await readdir(folder);
  return names.filter((name) => name.endsWith('.deb')).map((name) => join(folder, name));
}

async function makeRoot(root: string): Promise<void> {
  for (const name of [...MERGED.map((one) => `usr/${one}`), 'etc', 'proc', 'sys', 'dev', 'root', 'srv'])
    await mkdir(join(root, name), { recursive: true });
  await mkdir(join(root, 'tmp'));
  for (const name of MERGED) await symlink(`usr/${name}`, join(root, name));
  await writeFile(join(root, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/bash\n');
  await writeFile(join(root, 'etc/group'), 'root:x:0:\n');
}

const UNPACK =
  'from="$1"; to="$2"; shift 2; dpkg-deb --fsys-tarfile "$from" | tar -x -C "$to" --keep-directory-symlink "$@"';

/** The shell reports an error of the first program, too. */
const unpack = (path: string, root: string): Promise<unknown> =>
  run(
    'bash',
    ...['-o', 'pipefail', '-c', UNPACK],
    ...['unpack', path, root, ...LEFT_OUT.map((name) => `--exclude=./usr/share/${name}/*`)],
  );
