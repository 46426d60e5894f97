/**
 * The trial of an update: the new agent runs as a child of the old one, and must connect. Only then does it
 * take the place of the old one, so that a failure at any moment leaves the old one in place (P202).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { sleep } from '../sleep.ts';

/** In the environment of an agent that is on trial. */
export const TRIAL = 'BERTH_AGENT_ON_TRIAL';
const CONNECTED = 'connected';

/** How long the new agent has to end before it is killed. */
const END_MS = 10_000;
const MAX_LINE_LENGTH = 300;

export interface Trial {
  /** The new bundle. */
  candidate: string;
  env: NodeJS.ProcessEnv;
  /** How long it has to connect. */
  waitMs: number;
  signal: AbortSignal;
}

/**
 * Runs the new agent until it has connected, then ends it. Resolves to undefined, or to the reason why it is
 * not to be used, as a clause for people.
 */
export async function tryOut({ candidate, env, waitMs, signal }: Trial): Promise<string | undefined> {
  const child = spawn(process.execPath, [...process.execArgv, candidate], {
    env: { ...env, [TRIAL]: 'on' },
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  const lastLine = passOn(child);
  const ended = once(child, 'exit').then(([code, killedBy]) => `${code ?? killedBy}`, String);
  const connected = new Promise<undefined>((resolve) => {
    child.on('message', (message) => message === CONNECTED && resolve(undefined));
  });
  const outcome = await Promise.race([
    connected,
    ended.then((code) => `it ended (${code}) before it connected: ${lastLine()}`),
    sleep(waitMs, signal).then(() =>
      signal.aborted
        ? 'this agent was stopped meanwhile'
        : `it did not connect within ${waitMs / 1_000} s: ${lastLine()}`,
    ),
  ]);
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), END_MS);
  await ended;
  clearTimeout(timer);
  return outcome;
}

/** The log of the new agent is part of this one's. Returns what reads its last line. */
function passOn(child: ChildProcess): () => string {
  let last = 'it has printed nothing';
  if (child.stderr)
    createInterface({ input: child.stderr }).on('line', (line) => {
      process.stderr.write(`${line}\n`);
      if (line.trim() !== '') last = line.slice(0, MAX_LINE_LENGTH);
    });
  return () => last;
}

/** For an agent that may be on trial: it ends with the agent that tries it. */
export function endWithParent(stop: () => void): void {
  if (process.env[TRIAL] !== 'on') return;
  // The other may have ended while this one was loading.
  if (!process.connected) stop();
  else process.once('disconnect', stop);
  process.channel?.unref();
}

/** For an agent that may be on trial: it has connected. */
export function passTrial(): void {
  if (process.env[TRIAL] === 'on' && process.connected) process.send?.(CONNECTED);
}
