/**
 * Owns that one agent at a time works with a data folder (PROTOCOL.md P90): a lock of the kernel's on a file in it, which ends
 * with the process that has it, however that ends, and also holds between containers that share the folder. Never removes the
 * file: a lock on one that is gone keeps nobody out.
 */
import { spawn } from 'node:child_process';
import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { text } from 'node:stream/consumers';
import { ConfigError } from '../config.ts';
import { type Logger, messageOf } from '../logger.ts';
import { sleep } from '../sleep.ts';
import { findProgram, foreignEnv } from '../system-programs.ts';

/** Another agent works with the data folder. */
export class FolderTakenError extends ConfigError {
  override name = 'FolderTakenError';
}

export interface FolderLockOptions {
  log: Logger;
  nowMs: () => number;
  /** How long another agent has to end: one that was told to takes a moment. */
  waitMs: number;
  /** Ends the waiting; the folder is not locked then. */
  signal: AbortSignal;
}

const RETRY_MS = 200;

/**
 * Resolves to what gives the folder back. Throws FolderTaken where another agent keeps it. Where it can't be locked at all (a
 * file system without locks, no program `flock`, a folder that can't be written) the log is told, and the agent goes on.
 */
export async function lockFolder(folder: string, options: FolderLockOptions): Promise<() => void> {
  const path = `${folder}/agent.lock`;
  let file: number | undefined;
  const close = () => {
    if (file !== undefined) closeSync(file);
  };
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Not for writing anew: what the holder tells of itself stays. No program that we start inherits it.
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

/** False where another has it and keeps it; also true where the waiting was ended. */
async function acquire(file: number, { waitMs, signal }: FolderLockOptions): Promise<boolean> {
  for (let waitedMs = 0; !signal.aborted; waitedMs += RETRY_MS) {
    if (await tryLock(file)) return true;
    if (waitedMs >= waitMs) return false;
    await sleep(RETRY_MS, signal);
  }
  return true;
}

/**
 * Node has no such call, so a program makes it on our file, which it inherits: the lock is the open file's, and stays after the
 * program has ended. False where another has it.
 */
async function tryLock(file: number): Promise<boolean> {
  const program = await findProgram('flock');
  if (!program) throw new Error('there is no program flock here (of util-linux or busybox)');
  const child = spawn(program, ['-n', '3'], {
    env: foreignEnv(process.env),
    stdio: ['ignore', 'ignore', 'pipe', file],
  });
  const ended = new Promise<number | null>((done, fail) => child.on('error', fail).on('close', done));
  const [code, errorOutput] = await Promise.all([ended, child.stderr ? text(child.stderr) : '']);
  if (code === 0) return true;
  // Of a lock that another has it says nothing.
  if (code === 1 && errorOutput === '') return false;
  throw new Error(errorOutput.trim() || `${program} ended with ${code}`);
}

/** Tells whoever comes second who has the folder. */
function writeHolder(file: number, nowMs: number): void {
  ftruncateSync(file);
  writeSync(file, `process ${process.pid} on ${hostname()}, since ${new Date(nowMs).toISOString()}\n`);
}

const takenText = (folder: string, path: string): string =>
  `Another agent works with the data folder ${folder}: ${holderIn(path)}. End that one, or give this one a folder of its own ` +
  '(BERTH_AGENT_DATA_DIR) and a join token, which makes it another host.';

const holderIn = (path: string): string =>
  readFileSync(path, 'utf8').split('\n', 1)[0] || 'it has not said which yet';
