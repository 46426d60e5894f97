/**
 * Data folder lock: only one agent at a time may use a data folder (P90). A kernel lock on a file in the
 * folder ends with the agent's process, however that ends, and also works between containers (CONT-11). The
 * file is never removed: a lock on a deleted file excludes no other agent.
 */
import { spawn } from 'node:child_process';
import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { text } from 'node:stream/consumers';
import { ConfigError } from '../config.ts';
import { type Logger, messageOf } from '../logger.ts';
import { sleep } from '../sleep.ts';
import { findProgram, foreignEnv } from '../system-programs.ts';

/** Another agent uses the data folder. */
export class FolderTakenError extends ConfigError {
  override name = 'FolderTakenError';
}

export interface FolderLockOptions {
  log: Logger;
  nowMs: () => number;
  /** How long to wait for another agent that may be about to end. */
  waitMs: number;
  /** Ends the wait. The folder is then not locked. */
  signal: AbortSignal;
}

const RETRY_MS = 200;

/**
 * Resolves to a function that releases the folder. Throws FolderTakenError if another agent holds the lock.
 * If locking is not possible (a file system without locks, no program `flock`, a folder that is not
 * writable), this is logged and the agent continues.
 */
export async function lockFolder(folder: string, options: FolderLockOptions): Promise<() => void> {
  const path = `${folder}/agent.lock`;
  let file: number | undefined;
  const close = () => {
    if (file !== undefined) closeSync(file);
  };
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Opened for appending, so that the holder's entry stays. Child processes do not inherit the file.
    file = openSync(path, 'a', 0o600);
    if (!(await acquire(file, options))) throw new FolderTakenError(takenText(folder, path));
    if (!options.signal.aborted) writeHolder(file, options.nowMs());
  } catch (error) {
    if (error instanceof FolderTakenError) {
      close();
      throw error;
    }
    options.log('data-folder.lock-unavailable', { folder, reason: messageOf(error) });
  }
  return close;
}

/** False if another agent holds the lock until the end of the wait. True also if the wait was aborted. */
async function acquire(file: number, { waitMs, signal }: FolderLockOptions): Promise<boolean> {
  for (let waitedMs = 0; !signal.aborted; waitedMs += RETRY_MS) {
    if (await tryLock(file)) return true;
    if (waitedMs >= waitMs) return false;
    await sleep(RETRY_MS, signal);
  }
  return true;
}

/**
 * Node has no such call, so the program `flock` locks the inherited file. The lock belongs to the open file,
 * and stays after the program has ended. False if another agent holds the lock.
 */
async function tryLock(file: number): Promise<boolean> {
  const program = await findProgram('flock');
  if (!program) throw new Error('the program flock (of util-linux or busybox) is not installed');
  const child = spawn(program, ['-n', '3'], {
    env: foreignEnv(process.env),
    stdio: ['ignore', 'ignore', 'pipe', file],
  });
  const ended = new Promise<number | null>((done, fail) => child.on('error', fail).on('close', done));
  const [code, errorOutput] = await Promise.all([ended, child.stderr ? text(child.stderr) : '']);
  if (code === 0) return true;
  // `flock` prints nothing if another process holds the lock.
  if (code === 1 && errorOutput === '') return false;
  throw new Error(errorOutput.trim() || `${program} ended with ${code}`);
}

/** Writes the holder into the file, for the message of a second agent. */
function writeHolder(file: number, nowMs: number): void {
  ftruncateSync(file);
  writeSync(file, `process ${process.pid} on ${hostname()}, since ${new Date(nowMs).toISOString()}\n`);
}

const takenText = (folder: string, path: string): string =>
  `Another agent uses the data folder ${folder}: ${holderIn(path)}. Stop that agent, or give this agent its own ` +
  'folder (BERTH_AGENT_DATA_DIR) and a join token, which makes it another host.';

const holderIn = (path: string): string =>
  readFileSync(path, 'utf8').split('\n', 1)[0] || 'its process is not known yet';
