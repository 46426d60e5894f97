/**
 * Measures a whole cluster in an isolate of 128 MB, as a Durable Object has it: workerd without wrangler,
 * with that much heap, coordinator and gateways in one isolate. Everything is killed under this load and
 * starts again.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { openRemote } from '../../../control-plane/store/db/remote.ts';
import type { HeapUsage } from '../../../test/support/hosts/isolate-heap.ts';
import { freePort } from '../../../test/support/hosts/port.ts';
import type { Program } from '../../../test/support/hosts/process.ts';
import { startLimitedWorkerd } from '../../../test/support/hosts/workerd/limited-workerd.ts';
import { eventually } from '../../../test/support/tools/eventually.ts';
import { PASSWORD } from '../deployment.ts';
import { atLeast, atMost, type Measurement } from '../figure.ts';
import {
  EVENT_STREAMS,
  LOG_READERS,
  NAME,
  OUTPUT_BYTES_PER_S,
  openEvents,
  openLogs,
  prepare,
  type Rig,
  request,
  startAgents,
  submit,
  USERS,
  WARM_UP,
  warmUp,
} from '../isolate/cluster.ts';
import { HeapWatch, totalMb } from '../isolate/heap-watch.ts';
import { measureStalledReaders } from '../isolate/stalled-readers.ts';
import type { StreamClients } from '../isolate/stream-clients.ts';
import { startTurnover, type Turnover } from '../isolate/turnover.ts';

/** Heap of V8, in the unit of its flag. */
const LIMIT_MIB = 128;
const LIMIT_MB = (LIMIT_MIB * 2 ** 20) / 1e6;
const HOSTS = 500;
const RUNNING = 5_000;
const WAITING = 20_000;
const LOAD_MS = 60_000;
const AFTER_MS = 30_000;
const JOIN_MS = 180_000;
const SYNC_MS = 120_000;
const SETTLE_MS = 60_000;

/** The load beside the hosts and what waits. */
interface Clients {
  events: StreamClients;
  logs: StreamClients;
  turnover: Turnover;
}

export async function measureIsolate(): Promise<Measurement[]> {
  const cluster = await withRig(async (rig) => {
    const agents = startAgents(rig, HOSTS, RUNNING, 'host');
    return await measureCluster(rig, agents).finally(() => agents.kill());
  });
  return [...cluster, ...(await withRig((rig) => measureStalledReaders(rig, WARM_UP + 1)))];
}

async function withRig<T>(measure: (rig: Rig) => Promise<T>): Promise<T> {
  const inspector = `127.0.0.1:${await freePort()}`;
  const settings = { BERTH_DEPLOYMENT_NAME: NAME, BERTH_ADMIN_PASSWORD: PASSWORD };
  const workerd = await startLimitedWorkerd([`--max-old-space-size=${LIMIT_MIB}`], settings, {
    keepPorts: true,
    args: [`--inspector-addr=${inspector}`],
  });
  const watch = new HeapWatch(inspector);
  try {
    const rig = await prepare(workerd, watch);
    await warmUp(rig);
    return await measure(rig);
  } finally {
    await watch.stop();
    await workerd.stop();
  }
}

async function measureCluster(rig: Rig, agents: Program): Promise<Measurement[]> {
  const { watch, users } = rig;
  const measured: Measurement[] = [];
  let before = await watch.live();
  const each = async <T>(what: string, count: number, mostBytes: number, make: () => Promise<T>) => {
    const made = await make();
    const now = await watch.live();
    const figure = ((totalMb(now) - totalMb(before)) * 1e6) / count;
    before = now;
    measured.push({ name: `memory of ${what}`, unit: 'bytes', figure, goal: atMost(mostBytes, 'figure') });
    return made;
  };
  await each('a connected host', HOSTS, 20_000, () => agents.waitFor(/^synced$/m, JOIN_MS));
  await each('a running service, an execution each', RUNNING, 5_000, async () => {
    for (const cookie of users) await submit(rig, cookie, RUNNING / USERS);
    await agents.waitFor(/^runs$/m, JOIN_MS);
  });
  await each('an execution that waits', WAITING, 500, async () => {
    for (const cookie of users) await submit(rig, cookie, WAITING / USERS);
  });
  const events = await each('an open event stream', EVENT_STREAMS, 50_000, () => openEvents(rig));
  const logs = await each('a reader of a log', LOG_READERS, 200_000, () =>
    openLogs(rig, WARM_UP + 1, LOG_READERS),
  );
  const turnover = startTurnover(rig.url, rig.admin, WARM_UP + LOG_READERS + 1);
  const clients = { events, logs, turnover };
  measured.push(...(await underLoad(rig, clients, before)));
  measured.push(...(await restart(rig, clients, agents)));
  await turnover.stop();
  await checkNothingLost(rig, turnover, agents);
  measured.push({
    name: 'what the isolate could hold besides',
    unit: 'MB',
    figure: await watch.room(),
    goal: atLeast(LIMIT_MB / 4, 'figure'),
  });
  await Promise.all([events.close(), logs.close()]);
  return measured;
}

/** With garbage, which V8 collects once it needs the room. */
const largestOf = (when: string, { heapMb, buffersMb }: HeapUsage): Measurement[] => [
  { name: `largest heap ${when}`, unit: 'MB', figure: heapMb, goal: atMost(LIMIT_MB, 'figure') },
  { name: `largest buffers ${when}`, unit: 'MB', figure: buffersMb, goal: atMost(LIMIT_MB / 2, 'figure') },
];

async function underLoad(
  { watch, workerd }: Rig,
  { logs, turnover }: Clients,
  before: HeapUsage,
): Promise<Measurement[]> {
  logs.takeBytes();
  turnover.take();
  await pause(LOAD_MS);
  const bytes = logs.takeBytes();
  const { latenciesMs, failures } = turnover.take();
  if (failures.length > 0) throw new Error(`failed under load: ${failures.join('; ')}`);
  const largest = watch.takeLargest();
  const growthMb = totalMb(await watch.live()) - totalMb(before);
  const asked = LOG_READERS * OUTPUT_BYTES_PER_S;
  return [
    { name: 'live under load', unit: 'MB', figure: totalMb(before), goal: atMost(LIMIT_MB / 2, 'figure') },
    ...largestOf('until and under load', largest),
    {
      name: 'growth of what is live, by 60 s of load',
      unit: 'MB',
      figure: growthMb,
      goal: atMost(4, 'figure'),
    },
    {
      name: 'resident memory under load',
      unit: 'MB',
      figure: await workerd.residentMb(),
      goal: atMost(400, 'figure'),
    },
    {
      name: 'client that ends, submits and reads, under load, p99',
      unit: 'ms',
      figure: p99(latenciesMs),
      goal: atMost(250, 'figure'),
    },
    {
      name: 'logs that the readers get, of what is written',
      unit: 'MB/s',
      figure: bytes / 1e3 / LOAD_MS,
      limit: asked / 1e6,
      goal: atLeast(0.9),
    },
  ];
}

/** Kills workerd and the database under load, and starts both again. */
async function restart(
  rig: Rig,
  { events, logs, turnover }: Clients,
  agents: Program,
): Promise<Measurement[]> {
  const { workerd, watch, admin } = rig;
  await Promise.all([workerd.kill(), workerd.database.kill()]);
  // What arrived before belongs to the former connections.
  process.kill(agents.pid, 'SIGUSR2');
  const startMs = performance.now();
  const seconds = () => (performance.now() - startMs) / 1_000;
  await workerd.database.restart();
  await workerd.start();
  await eventually(async () => (await request(rig, admin, 'GET', 'execution/1')) !== '', SYNC_MS);
  const answersS = seconds();
  await agents.waitFor(/(?:^synced$[\s\S]*){2}/m, SYNC_MS);
  const syncS = seconds();
  await eventually(() => events.connected() === EVENT_STREAMS && logs.connected() === LOG_READERS, SETTLE_MS);
  const streamsS = seconds();
  turnover.take();
  await pause(AFTER_MS);
  const largest = watch.takeLargest();
  const live = await watch.live();
  const { latenciesMs } = turnover.take();
  const s = (name: string, figure: number, most: number) => ({
    name: `restart of everything under load, ${name}`,
    unit: 's',
    figure,
    goal: atMost(most, 'figure'),
  });
  return [
    s('until a request is answered', answersS, 10),
    s('until all agents are in sync', syncS, 30),
    s('until all streams are open again', streamsS, 30),
    ...largestOf('from the restart on', largest),
    {
      name: 'live after the restart',
      unit: 'MB',
      figure: totalMb(live),
      goal: atMost(LIMIT_MB / 2, 'figure'),
    },
    {
      name: 'resident memory after the restart',
      unit: 'MB',
      figure: await workerd.residentMb(),
      goal: atMost(400, 'figure'),
    },
    {
      name: 'the same client after the restart, p99',
      unit: 'ms',
      figure: p99(latenciesMs),
      goal: atMost(250, 'figure'),
    },
  ];
}

/** Throws if an acknowledged change was lost, or a service was started twice or runs nowhere. */
async function checkNothingLost({ workerd }: Rig, turnover: Turnover, agents: Program): Promise<void> {
  const db = openRemote(workerd.databaseUrl);
  const statusOf = new Map<number, string>();
  try {
    // Executions wait, so that every place is taken again.
    await eventually(async () => {
      for (const { id, status } of await db.query('SELECT id, status FROM executions'))
        statusOf.set(Number(id), String(status));
      return [...statusOf.values()].filter((status) => status === 'running').length === RUNNING;
    }, SETTLE_MS);
  } finally {
    await db.close();
  }
  const lost = [
    ...[...turnover.submissions].filter((id) => !statusOf.has(id)),
    ...[...turnover.terminations].filter((id) => statusOf.get(id) !== 'terminated'),
  ];
  if (lost.length > 0) throw new Error(`acknowledged and lost: ${lost.join(', ')}`);
  if (statusOf.size < WARM_UP + RUNNING + WAITING + turnover.submissions.size)
    throw new Error(`the database has only ${statusOf.size} executions`);
  await eventually(() => {
    process.kill(agents.pid, 'SIGHUP');
    return agents.output.includes(`${RUNNING} run, 0 were started`);
  }, SETTLE_MS);
}

const p99 = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? Number.NaN;
