/**
 * Finds the Docker engine of this machine, or starts one if none answers. Never touches containers or images,
 * and never stops an engine that it did not start.
 */
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DEFAULT_SOCKET, pingEngine, socketOf, unixHost, usualHosts } from '../engine/engine-address.ts';
import { findProgram } from '../system-programs.ts';
import { hasApt, installPackage, isRoot } from './debian.ts';
import { type DaemonPlace, startDockerd, usualPlace } from './dockerd.ts';
import type { Terminal } from './terminal.ts';

export interface LocalEngine {
  /** The value of DOCKER_HOST for this engine. */
  host: string;
  started: boolean;
  /** Ends the dockerd that this call started. Has no effect on any other engine. */
  stop(): Promise<void>;
}

export interface LocalEngineOptions extends Terminal {
  env?: NodeJS.ProcessEnv;
  /** Folder for dockerd's log. */
  dataDir?: string;
  /** Where to start a dockerd. Only tests run several on one machine. */
  place?: DaemonPlace;
}

/** Finds or starts an engine. An error's message is for the person at the terminal. */
export async function ensureEngine(options: LocalEngineOptions): Promise<LocalEngine> {
  const { env = process.env, place = usualPlace } = options;
  const named = env.DOCKER_HOST || undefined;
  const own = unixHost(place.socketPath);
  const hosts = named ? [named] : place.socketPath === DEFAULT_SOCKET ? usualHosts(env) : [own];
  const failures: Error[] = [];
  for (const host of hosts) {
    const failure = await pingEngine(host);
    if (failure === null) return found(host);
    failures.push(failure);
  }
  if (named && socketOf(named) !== place.socketPath) {
    throw new Error(`No Docker engine answers at DOCKER_HOST=${named}: ${failures[0]?.message}`);
  }
  if (failures.some((failure) => 'code' in failure && failure.code === 'EACCES')) {
    throw new Error(
      `This user may not use ${place.socketPath}: join the group "docker", or run this as root`,
    );
  }
  return start(own, place, options);
}

const found = (host: string): LocalEngine => ({ host, started: false, stop: async () => {} });

const ELSEWHERE = 'or set DOCKER_HOST to an engine that runs elsewhere';

/** One caller at a time installs and starts; the others then find an engine that answers. */
async function start(host: string, place: DaemonPlace, options: LocalEngineOptions): Promise<LocalEngine> {
  if (process.platform !== 'linux') {
    throw new Error(`No Docker engine answers. Install Docker Desktop or Colima and start it, ${ELSEWHERE}`);
  }
  const unlock = await lock(`berth-dockerd:${place.socketPath}`);
  try {
    if ((await pingEngine(host)) === null) return found(host);
    const program = (await findProgram('dockerd')) ?? (await install(options));
    if (!isRoot()) {
      throw new Error(
        `No Docker engine answers at ${place.socketPath}. Start it, or run this as root, ${ELSEWHERE}`,
      );
    }
    // On a machine with an init system, the installation has started the engine.
    if ((await pingEngine(host)) === null) return found(host);
    const logFile = join(options.dataDir ?? '.berth', 'dockerd.log');
    const dockerd = await startDockerd({ program, place, logFile, say: options.say });
    return dockerd ? { host, started: true, stop: dockerd.stop } : found(host);
  } finally {
    unlock();
  }
}

async function install({ say, ask }: Terminal): Promise<string> {
  const missing = "No Docker engine answers, and Docker's engine (dockerd) is not installed";
  if (!isRoot() || !(await hasApt())) {
    const remedy =
      'Install it (https://docs.docker.com/engine/install; on Debian: apt-get install docker.io)';
    throw new Error(`${missing}. ${remedy} and start it, ${ELSEWHERE}`);
  }
  if (!(await ask(`${missing}. Install Debian's package docker.io?`))) {
    throw new Error(`${missing}. Install it, ${ELSEWHERE}`);
  }
  say('Installing docker.io with apt-get (about a minute)');
  await installPackage('docker.io');
  const program = await findProgram('dockerd');
  if (!program) throw new Error('The package docker.io is installed, but contains no dockerd');
  return program;
}

/** A lock between processes that always ends with its holder: a name in Linux's abstract socket namespace. */
async function lock(name: string): Promise<() => void> {
  for (;;) {
    const holder = createServer();
    const taken = await new Promise<boolean>((done, fail) => {
      holder.once('listening', () => done(false));
      holder.once('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'EADDRINUSE') done(true);
        else fail(error);
      });
      holder.listen(`\0${name}`);
    });
    if (!taken) return () => holder.close();
    await sleep(200);
  }
}
