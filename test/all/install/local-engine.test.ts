/** Starts engines beside the one of the other tests. Requires root and an installed dockerd. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { connectEngine, pingEngine, unixHost } from '../../../agent/engine/engine-address.ts';
import type { DaemonPlace } from '../../../agent/local/dockerd.ts';
import { ensureEngine, type LocalEngine } from '../../../agent/local/local-engine.ts';
import { findProgram } from '../../../agent/system-programs.ts';
import { atProcessEnd } from '../../support/hosts/process.ts';
import { eventually } from '../../support/tools/eventually.ts';

let folder: string;
let place: DaemonPlace;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-d-'));
  const socketPath = join(folder, 'd.sock');
  const pidFile = join(folder, 'pid');
  const roots = ['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec')];
  // Not --bridge=none, which would remove docker0 from the other engines of this machine.
  const quiet = ['--iptables=false', '--ip-forward=false'];
  place = {
    socketPath,
    pidFile,
    containerdPidFile: join(folder, 'exec/containerd/containerd.pid'),
    args: ['-H', unixHost(socketPath), '--pidfile', pidFile, ...roots, ...quiet],
  };
});

// An interrupt in the middle of a test skips afterEach, and dockerd runs in its own session.
atProcessEnd(() => {
  if (existsSync(place.pidFile)) process.kill(Number(readFileSync(place.pidFile, 'utf8')), 'SIGTERM');
});

/**
 * Ends the engines that a test has left running. A killed dockerd leaves its own folder mounted on itself.
 */
afterEach(async () => {
  // By folder: when two start at once, the pid file names only one, and the other may still mount the folder.
  // A dockerd ends its containerd, and would replace one that ends before it.
  for (const program of ['dockerd', 'containerd'] as const) {
    // Not with process.kill, which throws if one has just ended.
    spawnSync('kill', (await running(program)).map(String));
    await eventually(async () => (await running(program)).length === 0);
  }
  while (spawnSync('umount', [join(folder, 'data')]).status === 0);
  await rm(folder, { recursive: true, force: true });
});

const readPid = async (file: string): Promise<number> =>
  Number(await readFile(file, 'utf8').catch(() => '0'));

/** The engine's program that the process runs; undefined for any other process and for a zombie. */
async function programOf(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat.match(/\((dockerd|containerd)\) [^Z]/)?.[1];
}

const lives = async (pid: number): Promise<boolean> => (await programOf(pid)) !== undefined;

/** The pids of all processes of `program` with an argument that names the folder of the test. */
async function running(program: 'dockerd' | 'containerd'): Promise<number[]> {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0);
  const isOwn = await Promise.all(
    pids.map(async (pid) => {
      const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      return line.includes(folder) && (await programOf(pid)) === program;
    }),
  );
  return pids.filter((_, at) => isOwn[at]);
}

/** Starts dockerd as a program other than Berth would. */
async function startForeign(): Promise<ChildProcess> {
  return spawn(String(await findProgram('dockerd')), place.args, { stdio: 'ignore' });
}

const ensure = (env: NodeJS.ProcessEnv = {}, own = place): Promise<LocalEngine> =>
  ensureEngine({
    say: () => {},
    ask: async (question) => {
      throw new Error(`unexpected question: ${question}`);
    },
    env,
    dataDir: folder,
    place: own,
  });

test('an engine is started if none answers at the default place, although a pid file names another program, and stop ends it and its containerd', async () => {
  await writeFile(place.pidFile, String(process.pid));
  // A DOCKER_HOST that names the default place counts as unset.
  const engine = await ensure({ DOCKER_HOST: unixHost(place.socketPath) });
  expect(engine).toMatchObject({ host: unixHost(place.socketPath), started: true });
  expect((await connectEngine(engine.host).info()).DockerRootDir).toBe(join(folder, 'data'));
  const pids = [await readPid(place.pidFile), await readPid(place.containerdPidFile)];
  expect(await Promise.all(pids.map(lives))).toEqual([true, true]);
  await engine.stop();
  expect(await Promise.all(pids.map(lives))).toEqual([false, false]);
});

test('one of several simultaneous callers starts the engine, and all use the same', async () => {
  const engines = await Promise.all([ensure(), ensure(), ensure()]);
  expect(engines.map(({ started }) => started).sort()).toEqual([false, false, true]);
  expect(new Set(engines.map(({ host }) => host)).size).toBe(1);
  for (const { stop } of engines) await stop();
  expect(await pingEngine(unixHost(place.socketPath))).toBeInstanceOf(Error);
});

test('a dockerd that another program starts at the same moment leaves one engine, which answers', async () => {
  const { pid } = await startForeign();
  const engine = await ensure();
  expect(await pingEngine(engine.host)).toBeNull();
  expect((await readPid(place.pidFile)) === pid).toBe(!engine.started);
});

test('a new engine starts after kill -9, although the pid files of the old one are left', async () => {
  await ensure();
  const killed = await readPid(place.pidFile);
  process.kill(killed, 'SIGKILL');
  await eventually(async () => !(await lives(killed)));
  const again = await ensure();
  expect(again.started).toBe(true);
  expect(await readPid(place.pidFile)).not.toBe(killed);
  await again.stop();
});
