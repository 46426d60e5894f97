/**
 * Measures a storm: all agents lose their connection at the same moment and reconnect. Runs on Node, and on
 * workerd from the real bundle, where it also measures what readers of logs cost others.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Agents } from '../agents.ts';
import { application } from '../application.ts';
import { Deployment } from '../deployment.ts';
import { bounded, floored, type Measurement, median } from '../figure.ts';
import { runLoad, startLoad } from '../load.ts';
import { openStreams } from '../stream-clients.ts';

const AGENTS = 2_000;
const SERVICES = 2 * AGENTS;
const ROUNDS = 3;
const CLIENTS = 4;
/**
 * Pause between requests of each API client during a storm. The clients measure latencies and must not add
 * load.
 */
const PAUSE_MS = 50;
const READERS = 100;
/** What all readers get together. */
const OUTPUT_BYTES_PER_S = 2e6;
/** From the opening of the logs to the measurement beside them. */
const READ_MS = 3_000;
/** Executions that are started for a measurement of their latency. */
const STARTS = 400;
/** The latency alone and beside readers is measured so many times, by turns. */
const START_ROUNDS = 5;

export async function measureStorm(): Promise<Measurement[]> {
  return [...(await stormsOnNode()), ...(await stormsOnWorkerd())];
}

async function stormsOnNode(): Promise<Measurement[]> {
  await using deployment = await Deployment.start('bench-storm', 'off');
  const goals = { kind: 'Node', inSyncS: 20, p99Ms: 500, cpuMs: 3 };
  return storms(deployment, goals, async () => [
    bounded(`resident memory after them, ${AGENTS} agents`, 'MB', await deployment.residentMb(), 600),
  ]);
}

async function stormsOnWorkerd(): Promise<Measurement[]> {
  await using deployment = await Deployment.onWorkerd('bench-storm');
  const goals = { kind: 'workerd', inSyncS: 30, p99Ms: 250, cpuMs: 9 };
  return storms(deployment, goals, (agents) => besideReaders(agents, deployment));
}

interface Goals {
  kind: string;
  inSyncS: number;
  p99Ms: number;
  /** Processor time of the control plane for each agent, with what clients cost meanwhile. */
  cpuMs: number;
}

/** Measures several storms and reports the slowest, with the highest API latency of all. */
async function storms(
  deployment: Deployment,
  goals: Goals,
  further: (agents: Agents) => Promise<Measurement[]>,
): Promise<Measurement[]> {
  const beginMs = performance.now();
  const outputBytesPerS = OUTPUT_BYTES_PER_S / READERS;
  await using agents = new Agents(deployment, { agents: AGENTS, services: SERVICES, outputBytesPerS });
  await deployment.removeQuotaLimits();
  await agents.synced();
  const joinS = (performance.now() - beginMs) / 1_000;
  await runLoad({ ...deployment.submissions(CLIENTS, application()), requests: SERVICES });
  await agents.run();
  const outcomes: Outcome[] = [];
  for (let round = 0; round < ROUNDS; round++) outcomes.push(await storm(agents, deployment));
  const worst = (of: keyof Outcome) => Math.max(...outcomes.map((outcome) => outcome[of]));
  const { kind, inSyncS, p99Ms, cpuMs } = goals;
  const name = `${AGENTS} agents on ${kind}, all dropped at once`;
  return [
    bounded(`${AGENTS} agents on ${kind} register and connect`, 's', joinS, 60),
    bounded(`${name}: until all are in sync again`, 's', worst('seconds'), inSyncS),
    bounded(`${name}: API meanwhile, p99`, 'ms', worst('p99Ms'), p99Ms),
    bounded(`${name}: processor time of the control plane for each`, 'ms', worst('cpuMs'), cpuMs),
    ...(await further(agents)),
  ];
}

interface Outcome {
  cpuMs: number;
  seconds: number;
  p99Ms: number;
}

async function storm(agents: Agents, deployment: Deployment): Promise<Outcome> {
  const beforeMs = await deployment.processorMs();
  const loads = [
    deployment.load('GET', 'execution/1', CLIENTS),
    deployment.submissions(CLIENTS, application()),
  ];
  const ends = loads.map((load) => startLoad({ ...load, pauseMs: PAUSE_MS }));
  const startMs = performance.now();
  agents.drop();
  await agents.synced();
  const seconds = (performance.now() - startMs) / 1_000;
  const cpuMs = ((await deployment.processorMs()) - beforeMs) / AGENTS;
  const results = await Promise.all(ends.map((end) => end()));
  return { seconds, cpuMs, p99Ms: Math.max(...results.map(({ p99Ms }) => p99Ms)) };
}

/** Measures how much readers of logs delay the starts of executions. */
async function besideReaders(agents: Agents, deployment: Deployment): Promise<Measurement[]> {
  const submissions = deployment.submissions(CLIENTS, application(), '{nowMs}');
  const startP99Ms = async () => {
    await runLoad({ ...submissions, pauseMs: PAUSE_MS, requests: STARTS });
    return (await agents.summary()).p99Ms;
  };
  const paths = Array.from({ length: READERS }, (_, at) => `service/logs/${at + 1}`);
  await startP99Ms();
  const alone: number[] = [];
  const beside: number[] = [];
  const megabytesPerS: number[] = [];
  for (let round = 0; round < START_ROUNDS; round++) {
    alone.push(await startP99Ms());
    const readers = openStreams(deployment, paths);
    await pause(READ_MS);
    readers.takeBytes();
    const beginMs = performance.now();
    beside.push(await startP99Ms());
    megabytesPerS.push(readers.takeBytes() / 1e3 / (performance.now() - beginMs));
    await readers.close();
  }
  const name = `${READERS} readers of logs on workerd`;
  const starts = { figure: median(beside), limit: median(alone) };
  const started = `${name}: submission -> start command, p99 (limit: without)`;
  return [
    floored(`${name}: what they get together, of 2 MB/s`, 'MB/s', median(megabytesPerS), 1.8),
    bounded(started, 'ms', starts, starts.limit + 20),
  ];
}
