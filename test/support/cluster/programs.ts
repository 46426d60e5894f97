/** Owns what a cluster needs of the machine: root on Linux, and programs that Debian has in packages. */
import { hasApt, installPackage, isRoot } from '../../../agent/local/debian.ts';
import { findProgram } from '../../../agent/system-programs.ts';

/** Program to package. docker.io brings iptables and docker-init; util-linux, with unshare and nsenter, is everywhere. */
const NEEDED = { ip: 'iproute2', dockerd: 'docker.io' };

/** Installs what is missing where that can be done, as the engine of the other tests is; throws where it can't. */
export async function ensurePrograms(): Promise<void> {
  if (process.platform !== 'linux' || !isRoot())
    throw new Error('Several hosts on one machine need root on Linux');
  for (const [program, name] of Object.entries(NEEDED)) {
    if (await findProgram(program)) continue;
    if (!(await hasApt())) throw new Error(`Several hosts on one machine need ${program}: install it`);
    await installPackage(name);
  }
}
