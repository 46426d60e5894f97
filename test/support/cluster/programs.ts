/** Requirements of a cluster: root on Linux, and programs that Debian has in packages. */
import { hasApt, installPackage, isRoot } from '../../../agent/local/debian.ts';
import { findProgram } from '../../../agent/system-programs.ts';

/**
 * Packages by program. docker.io includes iptables and docker-init; util-linux, with unshare and nsenter, is
 * always installed.
 */
const NEEDED = { ip: 'iproute2', dockerd: 'docker.io' };

/** Installs missing programs if possible, as for the engine of the other tests. Throws otherwise. */
export async function ensurePrograms(): Promise<void> {
  if (process.platform !== 'linux' || !isRoot())
    throw new Error('Several hosts on one machine need root on Linux');
  for (const [program, name] of Object.entries(NEEDED)) {
    if (await findProgram(program)) continue;
    if (!(await hasApt())) throw new Error(`Several hosts on one machine need ${program}: install it`);
    await installPackage(name);
  }
}
