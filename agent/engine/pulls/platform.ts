/** Finds out before a start that the engine can't run an image, because it is of another platform (P308). */
import { readdir, readFile } from 'node:fs/promises';
import type Docker from 'dockerode';
import { tolerate, wrapErrors } from '../docker-error.ts';
import { EngineError } from '../engine.ts';

/** An engine names the architecture as its kernel does, and an image as Go does. */
const OF_KERNEL: Record<string, string> = {
  x86_64: 'amd64',
  i386: '386',
  i686: '386',
  aarch64: 'arm64',
  armv6l: 'arm',
  armv7l: 'arm',
  armv8l: 'arm',
  loongarch64: 'loong64',
};
/** Others that the processor runs as well. */
const ALSO_RUNS: Record<string, readonly string[]> = { amd64: ['386'], arm64: ['arm'] };
/** The field `e_machine` of a program's ELF header, in hexadecimal. */
const MACHINES: Record<string, string> = {
  '386': '0300',
  amd64: '3e00',
  arm: '2800',
  arm64: 'b700',
  loong64: '0201',
  ppc64le: '1500',
  riscv64: 'f300',
  s390x: '0016',
};
/** Where `e_machine` is in the hexadecimal text of a header. */
const MACHINE_AT = 36;
const EMULATORS = '/proc/sys/fs/binfmt_misc';

export interface EnginePlatform {
  OSType: string;
  Architecture: string;
}

/**
 * Throws and removes the created container if its image is of another platform and the agent sees no emulator
 * for it. `isLocal`: an emulator would be on the agent's machine.
 */
export async function requirePlatform(
  docker: Docker,
  id: string,
  image: string,
  engine: EnginePlatform,
  isLocal: boolean,
): Promise<void> {
  const container = docker.getContainer(id);
  const { Image } = await wrapErrors(container.inspect());
  const { Os, Architecture } = await wrapErrors(docker.getImage(Image).inspect());
  const own = OF_KERNEL[engine.Architecture] ?? engine.Architecture;
  if (canRun(own, Architecture) && (Os === '' || Os === engine.OSType)) return;
  if (Os === engine.OSType && isLocal && (await isEmulated(Architecture))) return;
  await tolerate(container.remove({ v: true }), [404]);
  throw new EngineError(
    'permanent',
    `the image ${image} is for ${Os}/${Architecture}, and this host runs ${engine.OSType}/${own}: use an image for ` +
      `${engine.OSType}/${own}, or a host for ${Os}/${Architecture}`,
  );
}

/** An image without an architecture may be anything. */
const canRun = (own: string, wanted: string): boolean =>
  wanted === '' || wanted === own || (ALSO_RUNS[own] ?? []).includes(wanted);

/** Whether the kernel of this machine has an interpreter for programs of the architecture. */
async function isEmulated(architecture: string): Promise<boolean> {
  const machine = MACHINES[architecture];
  const names = machine === undefined ? [] : await readdir(EMULATORS).catch(() => []);
  const entries = await Promise.all(
    names.map((name) => readFile(`${EMULATORS}/${name}`, 'utf8').catch(() => '')),
  );
  return entries.some((entry) => {
    const [, magic = ''] = /^enabled\b[\s\S]*^magic ([0-9a-f]+)$/m.exec(entry) ?? [];
    return magic.slice(MACHINE_AT, MACHINE_AT + 4) === machine;
  });
}
