/**
 * Measures how long an execution takes to start and to end, against the same container directly on the
 * engine; the start of a user's first and second execution, against a Berth that separates nobody; and the
 * start of the command line.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type Docker from 'dockerode';
import { containerOptions } from '../../../agent/engine/docker/container-spec.ts';
import { networkName } from '../../../agent/engine/networks/scope.ts';
import { assignmentOf } from '../../../shared/expand.ts';
import { application } from '../application.ts';
import { measureCommand } from '../command-start.ts';
import { Deployment } from '../deployment.ts';
import { atMost, type Measurement, median } from '../figure.ts';

const ROUNDS = 20;
/** The engine still cleans up after a container when it reports the end. */
const REST_MS = 300;
const NAME = 'bench-start';
/** Each round makes a network, which stays for a minute, and the engine slows with their number. */
const USERS = 12;

interface Times {
  startMs: number;
  endMs: number;
}

export async function measureStart(docker: Docker): Promise<Measurement[]> {
  return [...(await measureExecution(docker)), ...(await measureUsers()), ...(await measureCommand())];
}

async function measureExecution(docker: Docker): Promise<Measurement[]> {
  const deployment = await Deployment.start(NAME, 'on');
  try {
    // Not measured: the first run makes the network, which both sides use.
    await runOnBerth(deployment);
    const options = await containerOptionsFor(docker);
    await runPlain(docker, options);
    const berth: Times[] = [];
    const plain: Times[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      berth.push(await runOnBerth(deployment));
      plain.push(await runPlain(docker, options));
    }
    return [
      measurement('submit -> running', 1.3, berth, plain, ({ startMs }) => startMs),
      measurement('terminate -> terminated', 1.5, berth, plain, ({ endMs }) => endMs),
    ];
  } finally {
    await deployment.stop();
  }
}

/** A user's first execution on a host waits for the network, the second one finds it. */
async function measureUsers(): Promise<Measurement[]> {
  const separated = await Deployment.start(`${NAME}-user`, 'on');
  const together = await Deployment.start(`${NAME}-none`, 'on', { BERTH_NETWORK_ISOLATION: 'none' });
  try {
    // Not measured: the first run makes the network of all.
    await runOnBerth(together);
    const first: Times[] = [];
    const second: Times[] = [];
    const before: Times[] = [];
    for (let round = 0; round < USERS; round++) {
      const user = await separated.addUser(`user${round}`);
      before.push(await runOnBerth(together));
      first.push(await runOnBerth(separated, user));
      before.push(await runOnBerth(together));
      second.push(await runOnBerth(separated, user));
    }
    const start = ({ startMs }: Times) => startMs;
    return [
      measurement('first execution of a user -> running', 1.4, first, before, start),
      measurement('second execution of a user -> running', 1.1, second, before, start),
    ];
  } finally {
    await Promise.all([separated.stop(), together.stop()]);
  }
}

async function runOnBerth(deployment: Deployment, cookie = deployment.cookie): Promise<Times> {
  const beginMs = performance.now();
  const id = await deployment.submit(application(), cookie);
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

const measurement = (
  name: string,
  factor: number,
  measured: readonly Times[],
  limit: readonly Times[],
  pick: (times: Times) => number,
): Measurement => ({
  name,
  unit: 'ms',
  figure: median(measured.map(pick)),
  limit: median(limit.map(pick)),
  goal: atMost(factor),
});
