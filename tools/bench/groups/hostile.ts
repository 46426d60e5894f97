/**
 * Measures bodies of up to 1 MiB that are made to cost much: what each costs beside JSON.parse of the same
 * text, for which nobody else is served.
 */
import { readFileSync } from 'node:fs';
import { REGISTER_PATH } from '../../../shared/protocol/enrolment.ts';
import { Deployment } from '../deployment.ts';
import { bounded, type Measurement, median } from '../figure.ts';
import { type HostileRequest, hostileRequests, zoeRequests } from '../hostile-requests.ts';

const WARM_UP = 60;
/** Bodies that are measured again. */
const WORST = 24;
const ROUNDS = 3;
const PARSED_MS = 30;
const MAX_PARSED = 100;
/** A refusal for want of room would cost less than the body. */
const ROOM = { BERTH_MAX_WAITING_MIB_PER_USER: '4096' };
const ZOE = { ...ROOM, BERTH_API_VARIANT: 'zoe-2018.12' };

interface Measured extends HostileRequest {
  costMs: number;
  parseMs: number;
}

const targets = [
  { name: 'Node', start: () => Deployment.start('bench-hostile', 'off', ROOM), bodies: hostileRequests },
  { name: 'Node, Zoe API', start: () => Deployment.start('bench-hostile', 'off', ZOE), bodies: zoeRequests },
  { name: 'workerd', start: () => Deployment.onWorkerd('bench-hostile', ROOM), bodies: hostileRequests },
];

export async function measureHostile(): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  for (const { name, start, bodies } of targets) {
    const target = await start();
    try {
      const { parseMs, costMs, path, shape } = await worstOf(target, bodies());
      const of = `(${parseMs.toFixed(1)} ms): ${path}, ${shape}`;
      const figure = Math.max(0, costMs - 10 * parseMs);
      measurements.push(bounded(`${name}: worst body beyond 10 x its JSON.parse ${of}`, 'ms', figure, 20));
    } finally {
      await target.stop();
    }
  }
  return measurements;
}

/** Sends every shape; then the worst again, since one measurement may contain a garbage collection. */
async function worstOf(target: Deployment, bodies: readonly HostileRequest[]): Promise<Measured> {
  for (const { path, text } of bodies.slice(0, WARM_UP)) await send(target, path, text);
  const measured: Measured[] = [];
  for (const body of bodies) {
    measured.push({ ...body, ...(await costOf(target, body)) });
    if (measured.length > 4 * WORST) measured.sort(byExcess).length = WORST;
  }
  const again: Measured[] = [];
  for (const one of measured.toSorted(byExcess).slice(0, WORST)) {
    const rounds = [];
    for (let round = 0; round < ROUNDS; round++) rounds.push(await costOf(target, one));
    const costMs = median(rounds.map((round) => round.costMs));
    again.push({ ...one, costMs, parseMs: median(rounds.map((round) => round.parseMs)) });
  }
  const [worst] = again.sort(byExcess);
  if (!worst) throw new Error('no body was measured');
  return worst;
}

const byExcess = (one: Measured, other: Measured): number => excessOf(other) - excessOf(one);
const excessOf = ({ costMs, parseMs }: Measured): number => costMs - 10 * parseMs;

/** Processor time of the control plane's main thread, and of JSON.parse in this thread. */
async function costOf(target: Deployment, { path, text }: HostileRequest) {
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
async function withJoinToken(target: Deployment): Promise<Record<string, string>> {
  const { token } = await target.json<{ token: string }>('POST', 'host/token', {});
  return { authorization: `Bearer ${token}` };
}

/** Sends a body as the administrator, whatever the answer. */
async function send(target: Deployment, path: string, text: string): Promise<void> {
  const headers = path === REGISTER_PATH ? await withJoinToken(target) : { cookie: target.cookie };
  const url = path.startsWith('/') ? target.url + path : `${target.url}/api/0.7/${path}`;
  const reply = await fetch(url, { method: 'POST', headers, body: text, redirect: 'manual' });
  await reply.arrayBuffer();
  if (reply.status >= 500) throw new Error(`${path} answered ${reply.status} to ${text.slice(0, 200)}`);
}
