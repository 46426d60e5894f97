/**
 * The processes of a command that the engine has started in a container. The engine can't end them, so the
 * agent does, where it sees the processes of the engine's machine and may send them signals. Never touches a
 * process outside the container.
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { killProcess, processesOf, type Running } from './container-processes.ts';

/** How long a command may take to end after SIGHUP, and how often the agent looks. */
const GRACE_MS = 2_000;
const LOOK_MS = 100;

/** Why this agent can't end commands in the container; undefined if it can. */
export async function signalProblem(container: Running): Promise<string | undefined> {
  const processes = await processesOf(container);
  if (!processes.includes(String(container.pid)))
    return "the agent doesn't see the processes of its host; an agent in a container requires --pid host";
  try {
    process.kill(container.pid, 0);
    return undefined;
  } catch {
    return 'the agent may not send signals to the processes of containers; it requires CAP_KILL';
  }
}

/**
 * Kills a command that the engine runs in the container, with what it has started. False if the agent sees
 * none of it, or may not kill all.
 */
export async function killCommand(id: string, pid: number): Promise<boolean> {
  if (pid <= 0) return false;
  const killed = (await commandProcesses({ id, pid }, pid)).map(killProcess);
  return killed.length > 0 && !killed.includes(false);
}

/** False once the container's first process has ended, which the engine finds out later. */
export const isAlive = async ({ pid }: Running): Promise<boolean> => (await statOf(pid)) !== undefined;

/** Sends a signal to the processes of the command with that first process. */
export async function signalCommand(container: Running, pid: number, signal: NodeJS.Signals): Promise<void> {
  for (const member of await commandProcesses(container, pid)) sendSignal(member, signal);
}

/** Ends the command: SIGHUP, and SIGKILL for what is left after 2 s. */
export async function endCommand(container: Running, pid: number): Promise<void> {
  await signalCommand(container, pid, 'SIGHUP');
  for (let waitedMs = 0; waitedMs < GRACE_MS; waitedMs += LOOK_MS) {
    if ((await commandProcesses(container, pid)).length === 0) return;
    await delay(LOOK_MS);
  }
  await signalCommand(container, pid, 'SIGKILL');
}

/**
 * The engine starts a command as leader of a session: its processes are those of the session, and their
 * children.
 */
async function commandProcesses(container: Running, leader: number): Promise<number[]> {
  const all = (await processesOf(container)).map(Number);
  const stats = await Promise.all(all.map(statOf));
  const members = new Set<number>();
  for (let before = -1; before < members.size; ) {
    before = members.size;
    for (const [n, pid] of all.entries()) {
      const stat = stats[n];
      if (stat && (pid === leader || stat.session === leader || members.has(stat.parent))) members.add(pid);
    }
  }
  if (container.pid !== leader) members.delete(container.pid);
  return [...members];
}

/** Undefined for a process that has ended. */
async function statOf(pid: number): Promise<{ parent: number; session: number } | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The name of the program, in parentheses, may hold anything.
  const [state, parent, , session] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return state === undefined || state === '' || state === 'Z'
    ? undefined
    : { parent: Number(parent), session: Number(session) };
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile; signalProblem has shown that signals are allowed.
  }
}
