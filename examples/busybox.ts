/** Finds a static busybox for the example image, and builds the root file system from it. */
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Pack, pack } from 'tar-stream';
import { hasApt, unpackPackage } from '../agent/local/debian.ts';
import type { Terminal } from '../agent/local/terminal.ts';

/**
 * The path of a busybox without library dependencies: the one of the machine, else one from Debian's package.
 */
export async function findBusybox(say: Terminal['say']): Promise<string | undefined> {
  if (process.platform !== 'linux') return undefined;
  const folder = resolve('.berth/busybox-static');
  const places = ['/bin/busybox', `${folder}/bin/busybox`, `${folder}/usr/bin/busybox`];
  const present = await firstStatic(places);
  if (present || !(await hasApt())) return present;
  say("Fetching Debian's package busybox-static with apt-get");
  await unpackPackage('busybox-static', folder);
  return firstStatic(places);
}

/** A root file system with every applet linked, as a tar stream. */
export async function packRoot(busyboxPath: string): Promise<Pack> {
  const busybox = await readFile(busyboxPath);
  const applets = execFileSync(busyboxPath, ['--list'], { encoding: 'utf8' }).trim().split('\n');
  const tar = pack();
  const folder = (name: string, mode = 0o755) => tar.entry({ name, type: 'directory', mode });
  const file = (name: string, content: string | Buffer, mode = 0o644) => tar.entry({ name, mode }, content);
  const link = (name: string, linkname: string) => tar.entry({ name, type: 'symlink', linkname });

  for (const name of ['bin', 'dev', 'etc', 'proc', 'sys', 'usr', 'var']) folder(name);
  folder('root', 0o700);
  folder('tmp', 0o1777);
  for (const name of ['sbin', 'usr/bin', 'usr/sbin']) link(name, '/bin');
  file('etc/passwd', 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n');
  file('etc/group', 'root:x:0:\nnogroup:x:65534:\n');
  file('bin/busybox', busybox, 0o755);
  // The list includes busybox itself: a link of that name would replace the program by a loop.
  for (const applet of applets) if (applet !== 'busybox') link(`bin/${applet}`, 'busybox');
  tar.finalize();
  return tar;
}

async function firstStatic(paths: string[]): Promise<string | undefined> {
  for (const path of paths) {
    const program = await readFile(path).catch(() => null);
    if (program && isStatic(program)) return path;
  }
  return undefined;
}

/** Whether a 64-bit program names no loader, that is, has no header of type PT_INTERP. */
function isStatic(program: Buffer): boolean {
  const elf64LittleEndian = '7f454c460201';
  const interpreterHeader = 3;
  if (program.toString('hex', 0, 6) !== elf64LittleEndian) return false;
  const offset = Number(program.readBigUInt64LE(32));
  const size = program.readUInt16LE(54);
  for (let i = 0; i < program.readUInt16LE(56); i++) {
    if (program.readUInt32LE(offset + i * size) === interpreterHeader) return false;
  }
  return true;
}
