/**
 * The processes of a container, where the agent sees those of the engine's machine. Never touches a process
 * that the kernel does not show in the container's control group.
 */
import { readdir, readFile } from 'node:fs/promises';
import { FairQueue } from '../../../shared/fair-queue.ts';

/** A container and its first process. */
export interface Running {
  id: string;
  pid: number;
}

interface ControlGroup {
  /** Empty if there is one hierarchy for all controllers. */
  controller: string;
  path: string;
}

const READS_AT_ONCE = 32;

/** Empty if the engine numbers processes in another way. */
export async function processesOf({ id, pid }: Running): Promise<string[]> {
  const group = await controlGroupOf(pid, id);
  if (!group) return [];
  const list = `/sys/fs/cgroup/${group.controller}${group.path}/cgroup.procs`;
  return (await readFile(list, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
}

/**
 * Sends SIGKILL to the processes of a container without a request to the engine. False if the agent sees
 * none, or is not allowed to kill all of them.
 */
export async function killProcesses(id: string): Promise<boolean> {
  const lane = new FairQueue({ total: READS_AT_ONCE });
  const pids = (await readdir('/proc').catch(() => [])).map(Number).filter((pid) => pid > 0);
  const killed = await Promise.all(
    pids.map(async (pid) => {
      const isOwn = await lane.run(() => controlGroupOf(pid, id));
      return isOwn && killProcess(pid);
    }),
  );
  return killed.includes(true) && !killed.includes(false);
}

/** True also if it has ended by itself. */
export function killProcess(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/** Undefined if the process is not in the control group of that container. */
async function controlGroupOf(pid: number, container: string): Promise<ControlGroup | undefined> {
  const groups = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
  const [, controller, path] = /^\d+:(memory|):(\/.+)$/m.exec(groups) ?? [];
  return controller !== undefined && path?.includes(container) ? { controller, path } : undefined;
}
