/**
 * One dockerd process that Berth starts on this machine, until it is stopped or left running. Never installs
 * dockerd, and never touches a dockerd that Berth did not start.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DEFAULT_SOCKET, pingEngine, unixHost } from '../engine/engine-address.ts';
import { foreignEnv, systemPath } from '../system-programs.ts';

/** Where a dockerd listens, and its files, which separate it from others on the same machine. */
export interface DaemonPlace {
  socketPath: string;
  pidFile: string;
  /** The pid file of the containerd that dockerd starts as its child. */
  containerdPidFile: string;
  args: string[];
}

/** Without arguments: they would conflict with the administrator's /etc/docker/daemon.json. */
export const usualPlace: DaemonPlace = {
  socketPath: DEFAULT_SOCKET,
  pidFile: '/var/run/docker.pid',
  containerdPidFile: '/var/run/docker/containerd/containerd.pid',
  args: [],
};

export interface Dockerd {
  stop(): Promise<void>;
}

interface StartOptions {
  program: string;
  place: DaemonPlace;
  logFile: string;
  say(line: string): void;
}

const START_LIMIT_MS = 120_000;
const STOP_LIMIT_MS = 60_000;
const PROGRESS_MS = 5_000;
const STEP_MS = 100;

/**
 * Starts dockerd and waits until it answers. Null if another dockerd of the same place was first and answers.
 */
export async function startDockerd({ program, place, logFile, say }: StartOptions): Promise<Dockerd | null> {
  if (await holderOf(place.pidFile, 'dockerd')) {
    say('Another dockerd is starting: waiting for it');
    await waitForAnswer(place, say, () => null);
    return null;
  }
  await holderOf(place.containerdPidFile, 'containerd');
  say(`Starting dockerd (its log: ${logFile})`);
  const child = await launch(program, place.args, logFile);
  const outcome = await waitForAnswer(place, say, () => child.exitCode ?? child.signalCode);
  // The dockerd that answers may be another one. In that case Berth's own ends.
  const holder = await holderOf(place.pidFile, 'dockerd');
  if (holder !== undefined && holder !== child.pid) {
    await waitForAnswer(place, say, () => null);
    return null;
  }
  if (outcome === 'answers') return { stop: () => stop(child) };
  throw new Error(
    `dockerd ended (${outcome.ended}) before it answered. The end of ${logFile}:\n${await tail(logFile)}`,
  );
}

/** Starts dockerd in its own session: neither Ctrl-C nor the end of this process reaches it. */
async function launch(program: string, args: string[], logFile: string): Promise<ChildProcess> {
  await mkdir(dirname(logFile), { recursive: true });
  const log = openSync(logFile, 'w');
  const { DOCKER_HOST: _, ...env } = foreignEnv(process.env);
  const child = spawn(program, args, {
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...env, PATH: systemPath() },
  });
  closeSync(log);
  await once(child, 'spawn');
  child.unref();
  return child;
}

type Outcome = 'answers' | { ended: number | NodeJS.Signals };

async function waitForAnswer(
  { socketPath }: DaemonPlace,
  say: (line: string) => void,
  ended: () => number | NodeJS.Signals | null,
): Promise<Outcome> {
  for (let waitedMs = STEP_MS; waitedMs <= START_LIMIT_MS; waitedMs += STEP_MS) {
    const end = ended();
    if (end !== null) return { ended: end };
    if ((await pingEngine(unixHost(socketPath))) === null) return 'answers';
    if (waitedMs % PROGRESS_MS === 0) say(`Waiting for the engine to answer (${waitedMs / 1000} s)`);
    await sleep(STEP_MS);
  }
  throw new Error(`dockerd runs, but has not answered at ${socketPath} for ${START_LIMIT_MS / 1000} s`);
}

/** Before it ends, dockerd stops its containers and its containerd. */
async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM');
  for (let waitedMs = 0; waitedMs < STOP_LIMIT_MS; waitedMs += STEP_MS) {
    if (child.exitCode !== null || child.signalCode !== null) return;
    await sleep(STEP_MS);
  }
  throw new Error(`dockerd (process ${child.pid}) has not ended ${STOP_LIMIT_MS / 1000} s after SIGTERM`);
}

/**
 * The id of the living process of that program that the pid file names; a stale file is removed. A killed
 * dockerd leaves files that name a zombie or, later, another program. The next dockerd would mistake either
 * for its predecessor or its containerd, and would not start.
 */
async function holderOf(pidFile: string, program: string): Promise<number | undefined> {
  const content = await readFile(pidFile, 'utf8').catch(() => null);
  if (content === null) return undefined;
  const pid = Number.parseInt(content, 10);
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const [, name, state] = stat.match(/^\d+ \((.*)\) (\S)/s) ?? [];
  if (name === program && state !== 'Z' && state !== 'X') return pid;
  await rm(pidFile, { force: true });
  return undefined;
}

async function tail(file: string): Promise<string> {
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  return lines.slice(-8).join('\n');
}
