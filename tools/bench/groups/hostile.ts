/**
 * Measures bodies of up to 1 MiB that are made to cost much: what each costs beside JSON.parse of the same
 * text, how long it holds the thread, and what a client of another address notices meanwhile.
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
import { REGISTER_PATH } from '../../../shared/protocol/enrolment.ts';
import { startProgram } from '../../../test/support/hosts/process.ts';
import { startLimitedWorkerd } from '../../../test/support/hosts/workerd/limited-workerd.ts';
import { cookieOf, Deployment, PASSWORD, ROOM } from '../deployment.ts';
import { atMost, type Measurement, median } from '../figure.ts';
import { type HostileRequest, hostileRequests, zoeRequests } from '../hostile-requests.ts';

const WARM_UP = 60;
/** Bodies that are sent to the other endpoints, and measured again. */
const WORST = 24;
const ROUNDS = 3;
const CLIENTS = 8;
const SECONDS = 20;
const PARSED_MS = 30;
const MAX_PARSED = 100;
/** Between two requests of the other client. */
const PAUSE_MS = 10;
/** A refusal for want of room would cost less than the body. */
const SETTINGS = {
  BERTH_LIMITS: JSON.stringify({ ...ROOM, waitingBytesPerUser: '4096MiB' }),
};
const ZOE = { ...SETTINGS, BERTH_API_VARIANT: 'zoe-2018.12' };

/** Task of hostile-clients.ts. */
export interface HostileLoad {
  clients: number;
  cookie: string;
  bodies: { url: string; text: string }[];
}

interface Measured extends HostileRequest {
  costMs: number;
  parseMs: number;
}

/** A control plane on one of the two hosts. */
interface Target {
  url: string;
  /** Session cookie of the administrator. */
  cookie: string;
  /** The process whose main thread handles requests. */
  pid: number;
  stop(): Promise<void>;
}

export const measureHostile = async (): Promise<Measurement[]> => [
  ...(await ownCosts(await Deployment.start('bench-hostile', 'off', SETTINGS), 'Node')),
  ...(await zoeCosts(await Deployment.start('bench-hostile-zoe', 'off', ZOE), 'Node')),
  ...(await ownCosts(await startWorkerd(SETTINGS), 'workerd')),
  ...(await zoeCosts(await startWorkerd(ZOE), 'workerd')),
];

/** Without wrangler, whose own handling of a request would count. */
async function startWorkerd(settings: Record<string, string>): Promise<Target> {
  const workerd = await startLimitedWorkerd([], { BERTH_ADMIN_PASSWORD: PASSWORD, ...settings });
  const url = workerd.url();
  return { url, cookie: await cookieOf(url, 'admin'), pid: workerd.program().pid, stop: workerd.stop };
}

async function ownCosts(target: Target, host: string): Promise<Measurement[]> {
  try {
    const worst = await worstBodies(target, hostileRequests());
    const held = await longestHold(target, worst);
    const latency = await othersLatency(target, worst);
    return [
      costs(worst, host),
      { ...held, name: `${host}: ${held.name}` },
      { ...latency, name: `${host}: ${latency.name}` },
    ];
  } finally {
    await target.stop();
  }
}

/** The forms of the earlier platform, which are mapped to Berth's own before they are checked. */
async function zoeCosts(target: Target, host: string): Promise<Measurement[]> {
  try {
    return [costs(await worstBodies(target, zoeRequests()), `${host}, Zoe API`)];
  } finally {
    await target.stop();
  }
}

/** What a body costs beyond ten times its JSON.parse. */
function costs(worst: readonly Measured[], prefix: string): Measurement {
  const [first] = worst;
  if (!first) throw new Error('no body was measured');
  const { parseMs, path, shape } = first;
  return {
    name: `${prefix}: worst body beyond 10 x its JSON.parse (${parseMs.toFixed(1)} ms): ${path}, ${shape}`,
    unit: 'ms',
    figure: Math.max(0, first.costMs - 10 * parseMs),
    goal: atMost(20, 'figure'),
  };
}

/** Sends every shape; then the worst again, since one measurement may contain a garbage collection. */
async function worstBodies(target: Target, bodies: readonly HostileRequest[]): Promise<Measured[]> {
  for (const { path, text } of bodies.slice(0, WARM_UP)) await send(target, path, text);
  const measured: Measured[] = [];
  for (const { path, shape, text } of bodies) {
    const one = { path, shape, text, ...(await costOf(target, path, text)) };
    measured.push(one);
    if (measured.length > 4 * WORST) measured.sort(byExcess).length = WORST;
  }
  const again: Measured[] = [];
  for (const one of measured.toSorted(byExcess).slice(0, WORST)) {
    const rounds = [];
    for (let round = 0; round < ROUNDS; round++) rounds.push(await costOf(target, one.path, one.text));
    const costMs = median(rounds.map((round) => round.costMs));
    again.push({ ...one, costMs, parseMs: median(rounds.map((round) => round.parseMs)) });
  }
  return again.sort(byExcess);
}

const byExcess = (one: Measured, other: Measured): number => excessOf(other) - excessOf(one);
const excessOf = ({ costMs, parseMs }: Measured): number => costMs - 10 * parseMs;

/** Processor time of the control plane's main thread, and of JSON.parse in this thread. */
async function costOf(target: Target, path: string, text: string) {
  const before = cpuMs(target.pid);
  await send(target, path, text);
  return { costMs: cpuMs(target.pid) - before, parseMs: parseMs(jsonIn(path, text)) };
}

const jsonIn = (path: string, text: string): string =>
  path.startsWith('/start') ? decodeURIComponent(text.slice('description='.length)) : text;

/** Parses several times, since Linux counts the time of a thread that runs in steps of some milliseconds. */
function parseMs(text: string): number {
  const before = cpuMs('thread-self');
  for (let runs = 1; ; runs++) {
    try {
      JSON.parse(text);
    } catch {
      // Not JSON: what the parser has read until then counts.
    }
    const ms = cpuMs('thread-self') - before;
    if (ms >= PARSED_MS || runs === MAX_PARSED) return ms / runs;
  }
}

const cpuMs = (pid: number | 'thread-self'): number =>
  Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;

/** Without a join token the body of a registration is not read. */
async function withJoinToken({ url, cookie }: Target): Promise<Record<string, string>> {
  const reply = await fetch(`${url}/api/0.7/host/token`, { method: 'POST', headers: { cookie }, body: '{}' });
  const { token } = z.object({ token: z.string() }).parse(await reply.json());
  return { authorization: `Bearer ${token}` };
}

const urlOf = ({ url }: Target, path: string): string =>
  path.startsWith('/') ? url + path : `${url}/api/0.7/${path}`;

/** Sends a body as the administrator, whatever the answer. */
async function send(target: Target, path: string, text: string): Promise<void> {
  const headers = path === REGISTER_PATH ? await withJoinToken(target) : { cookie: target.cookie };
  const url = urlOf(target, path);
  const reply = await fetch(url, { method: 'POST', headers, body: text, redirect: 'manual' });
  await reply.arrayBuffer();
  if (reply.status >= 500) throw new Error(`${path} answered ${reply.status} to ${text.slice(0, 200)}`);
}

/** The longest that a request of another client waits while one body after the other is sent. */
async function longestHold(target: Target, worst: readonly Measured[]): Promise<Measurement> {
  const holds: number[] = [];
  for (const { path, text, parseMs } of worst) {
    const rounds: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const latencies = await latenciesWhile(target, () => send(target, path, text));
      rounds.push(Math.max(0, ...latencies) - parseMs);
    }
    holds.push(median(rounds));
  }
  return {
    name: 'longest hold of the thread beyond JSON.parse, as GET info notices it',
    unit: 'ms',
    figure: Math.max(0, ...holds),
    goal: atMost(25, 'figure'),
  };
}

async function othersLatency(target: Target, worst: readonly Measured[]): Promise<Measurement> {
  const bodies = worst.slice(0, CLIENTS).map(({ path, text }) => ({ url: urlOf(target, path), text }));
  const load: HostileLoad = { clients: CLIENTS, cookie: target.cookie, bodies };
  const folder = await mkdtemp(join(tmpdir(), 'berth-hostile-'));
  const file = join(folder, 'load.json');
  await writeFile(file, JSON.stringify(load));
  const clients = startProgram(['tools/bench/programs/hostile-clients.ts', file]);
  try {
    await clients.waitFor(/^sending$/m);
    const latencies = await latenciesWhile(target, () => pause(SECONDS * 1_000), PAUSE_MS);
    latencies.sort((a, b) => a - b);
    const p99 = latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN;
    return {
      name: `GET info of another address while ${CLIENTS} clients send the worst, p99 beyond JSON.parse of one`,
      unit: 'ms',
      figure: p99 - Math.max(...worst.slice(0, CLIENTS).map(({ parseMs }) => parseMs)),
      goal: atMost(100, 'figure'),
    };
  } finally {
    await clients.kill();
    await rm(folder, { recursive: true });
  }
}

/** Latencies of GET info from another address, one request after another, while the work runs. */
async function latenciesWhile({ url }: Target, work: () => Promise<unknown>, pauseMs = 0): Promise<number[]> {
  const latencies: number[] = [];
  let running = true;
  const end = work().finally(() => {
    running = false;
  });
  while (running) {
    const startMs = performance.now();
    await getInfo(url);
    latencies.push(performance.now() - startMs);
    await pause(pauseMs);
  }
  await end;
  return latencies;
}

const getInfo = (url: string) =>
  new Promise<void>((resolve, reject) => {
    request(`${url}/api/0.7/info`, { localAddress: '127.0.0.2' }, (reply) => {
      reply.resume().on('end', resolve).on('error', reject);
    })
      .on('error', reject)
      .end();
  });
