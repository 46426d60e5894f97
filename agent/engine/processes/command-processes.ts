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

/** How often the agent looks for what the killed processes have started meanwhile. */
const MAX_ROUNDS = 5;

/**
 * Kills a command that the engine runs in the container, or has run, with what it has started. `mark`: a
 * variable in the environment of the command and thereby of all that it starts, whatever its session. False
 * if the agent sees none of it, or may not kill all.
 */
export async function killCommand(
  container: Running,
  leader: number,
  mark?: string,
  { members, kill } = { members: commandMembers, kill: killProcess },
): Promise<boolean> {
  if (leader <= 0) return false;
  const killed: boolean[] = [];
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const left = await members(container, leader, mark);
    if (left.length === 0) break;
    killed.push(...left.map(({ pid }) => kill(pid)));
  }
  return killed.length > 0 && !killed.includes(false);
}

/** False once the container's first process has ended, which the engine finds out later. */
export const isAlive = async ({ pid }: Running): Promise<boolean> => (await statOf(pid)) !== undefined;

/** Sends a signal to the processes of the command with that first process. */
export async function signalCommand(container: Running, pid: number, signal: NodeJS.Signals): Promise<void> {
  for (const member of await commandMembers(container, pid)) sendSignal(member.pid, signal);
}

/**
 * Ends the command: SIGHUP, and SIGKILL for what is left after 2 s, also if its own parent has ended by then.
 */
export async function endCommand(container: Running, pid: number): Promise<void> {
  const seen = new Map<number, Member>();
  const left = async (): Promise<number[]> => {
    for (const member of await commandMembers(container, pid)) seen.set(member.pid, member);
    const now = await Promise.all([...seen.keys()].map(statOf));
    // A number may have been given again.
    return now.flatMap((stat) => (stat && stat.start === seen.get(stat.pid)?.start ? stat.pid : []));
  };
  for (const one of await left()) sendSignal(one, 'SIGHUP');
  for (let waitedMs = 0; waitedMs < GRACE_MS; waitedMs += LOOK_MS) {
    if ((await left()).length === 0) return;
    await delay(LOOK_MS);
  }
  for (const one of await left()) sendSignal(one, 'SIGKILL');
}

/**
 * The engine starts a command as leader of a session: its processes are those of the session, and their
 * children. One that has left the session is a child of the container's first process once its parent has
 * ended, and is found by its mark.
 */
async function commandMembers(container: Running, leader: number, mark?: string): Promise<Member[]> {
  const all = (await Promise.all((await processesOf(container)).map(Number).map(statOf))).filter(
    (member) => member !== undefined,
  );
  const marked: Member[] = [];
  if (mark !== undefined)
    for (const one of all) if (one.parent === container.pid && (await hasMark(one, mark))) marked.push(one);
  return membersAmong(all, container.pid, leader, marked);
}

/** The processes of a command among those of its container, whose first process never is one. */
export function membersAmong(
  all: readonly Member[],
  first: number,
  leader: number,
  marked: readonly Member[] = [],
): Member[] {
  const members = new Map(marked.map((one) => [one.pid, one]));
  for (let before = -1; before < members.size; ) {
    before = members.size;
    for (const one of all)
      if (one.pid === leader || one.session === leader || members.has(one.parent)) members.set(one.pid, one);
  }
  members.delete(first);
  return [...members.values()];
}

async function hasMark({ pid }: Member, mark: string): Promise<boolean> {
  const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
  return environment.split('\0').includes(mark);
}

export interface Member {
  pid: number;
  parent: number;
  session: number;
  /** When it started, in ticks since the machine did. */
  start: number;
}

/** In the flags of a process that is about to end, after the last instruction of its program (PF_EXITING). */
const EXITING = 0x4;

/** Undefined for a process that has ended. */
async function statOf(pid: number): Promise<Member | undefined> {
  return memberIn(pid, await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''));
}

/** Reads the text of a process's /proc/PID/stat. */
export function memberIn(pid: number, text: string): Member | undefined {
  // The name of the program, in parentheses, may hold anything.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state = '', parent, , session, , , flags] = fields;
  if (state === '' || state === 'Z' || Number(flags) & EXITING) return undefined;
  return { pid, parent: Number(parent), session: Number(session), start: Number(fields[19]) };
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile; signalProblem has shown that signals are allowed.
  }
}
