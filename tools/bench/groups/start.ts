/**
 * Measures how long an execution takes to start and to end, against the same container directly on the
 * engine; the starts of the control plane and of the command line; and the size of the Worker.
 */
import { spawnSync } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type Docker from 'dockerode';
import { containerOptions } from '../../../agent/engine/docker/container-spec.ts';
import { networkName } from '../../../agent/engine/networks/scope.ts';
import { bundleCommand } from '../../../release/command.ts';
import { assignmentOf } from '../../../shared/expand.ts';
import { bundleInto } from '../../../test/support/hosts/workerd/worker-bundle.ts';
import { scratchFolder } from '../../../test/support/tools/folder.ts';
import { application } from '../application.ts';
import { Deployment } from '../deployment.ts';
import { atMost, bounded, byTurns, type Measurement, median } from '../figure.ts';

const ROUNDS = 20;
const COMMAND_ROUNDS = 40;
const STARTS = 5;
/** The engine still cleans up after a container when it reports the end. */
const REST_MS = 300;
const NAME = 'bench-start';

interface Times {
  startMs: number;
  endMs: number;
}

export const measureStart = async (docker: Docker): Promise<Measurement[]> => [
  ...(await measureExecution(docker)),
  await measureControlPlane(),
  ...(await measureBundles()),
];

async function measureExecution(docker: Docker): Promise<Measurement[]> {
  await using deployment = await Deployment.start(NAME, 'on');
  // Not measured: the first run makes the network, which both sides use.
  await runOnBerth(deployment);
  const options = await containerOptionsFor(docker);
  await runPlain(docker, options);
  const medians = await byTurns(ROUNDS, [() => runOnBerth(deployment), () => runPlain(docker, options)]);
  return [
    atMost('submit -> running', 'ms', medians('startMs'), 1.3),
    atMost('terminate -> terminated', 'ms', medians('endMs'), 1.5),
  ];
}

async function runOnBerth(deployment: Deployment): Promise<Times> {
  const beginMs = performance.now();
  const id = await deployment.submit(application());
  await deployment.reaches(id, 'running');
  const runningMs = performance.now();
  await pause(REST_MS);
  const terminateMs = performance.now();
  await deployment.request('DELETE', `execution/${id}`);
  await deployment.reaches(id, 'terminated');
  const endMs = performance.now() - terminateMs;
  await deployment.request('DELETE', `execution/delete/${id}`);
  await pause(REST_MS);
  return { startMs: runningMs - beginMs, endMs };
}

async function runPlain(docker: Docker, options: Docker.ContainerCreateOptions): Promise<Times> {
  const beginMs = performance.now();
  const container = await docker.createContainer(options);
  await container.start();
  const runningMs = performance.now();
  await pause(REST_MS);
  const stopMs = performance.now();
  await container.stop();
  await container.remove({ v: true });
  const endMs = performance.now() - stopMs;
  await pause(REST_MS);
  return { startMs: runningMs - beginMs, endMs };
}

/** What the agent requests from the engine for the same application, with labels of another deployment. */
async function containerOptionsFor(docker: Docker): Promise<Docker.ContainerCreateOptions> {
  const [definition] = application().services;
  if (!definition) throw new Error('the application has no service');
  const { MemTotal, NCPU, InitBinary } = await docker.info();
  const context = {
    executionId: 1,
    executionName: 'bench',
    deploymentName: NAME,
    userName: 'admin',
    userId: 1,
    fsUid: 1000,
  };
  const described = assignmentOf({ service: 1, generation: 1 }, 'plain0', definition, MemTotal, context);
  const assignment = { ...described, idProof: 'proof', isolation: 'user' as const };
  return containerOptions(assignment, {
    deployment: `${NAME}-plain`,
    host: 'plain',
    network: networkName({ kind: 'user', of: 'admin' }, NAME, 0),
    mounts: [],
    bind: null,
    capabilities: [],
    etcFiles: 'read-only',
    memoryBytes: MemTotal,
    nanoCpus: NCPU * 1e9,
    rotatedLogBytes: null,
    init: (InitBinary ?? '') !== '',
  });
}

/** With an empty database, until the first login is answered, which takes 0.1 s on purpose. */
async function measureControlPlane(): Promise<Measurement> {
  const times: number[] = [];
  for (let round = 0; round <= STARTS; round++) {
    const beganMs = performance.now();
    const deployment = await Deployment.start(NAME, 'off');
    times.push(performance.now() - beganMs);
    await deployment.stop();
  }
  // The first start fills the cache of compiled code.
  const name = 'start of the control plane, until a login is answered';
  return bounded(name, 'ms', median(times.slice(1)), 2_000);
}

/** What the command line takes to start above what Node takes to do nothing, and the size of the Worker. */
async function measureBundles(): Promise<Measurement[]> {
  const folder = await scratchFolder('berth-bench-bundles-');
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true }));
  await bundleInto(folder);
  const worker = gzipSync(await readFile(join(folder, 'worker.js'))).length;
  const program = join(folder, 'berth.mjs');
  await bundleCommand(program);
  const berth: number[] = [];
  const nothing: number[] = [];
  for (let round = 0; round < COMMAND_ROUNDS; round++) {
    berth.push(timeOf([program, '--version']));
    nothing.push(timeOf(['-e', '0']));
  }
  const above = median(berth.map((ms, round) => ms - (nothing[round] ?? 0)));
  const name = 'berth --version: time above that of node -e 0, median of pairs';
  return [
    bounded(name, 'ms', { figure: above, limit: median(nothing) }, 50),
    bounded('the Worker, compressed', 'KB', worker / 1_000, 1_000),
  ];
}

/** In ms. Node must not use a cache that people would not have. */
function timeOf(args: string[]): number {
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  const beganMs = performance.now();
  const { status } = spawnSync(process.execPath, args, { env, stdio: 'ignore' });
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}`);
  return performance.now() - beganMs;
}
