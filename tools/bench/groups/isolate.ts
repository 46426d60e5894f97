/**
 * Measures a whole cluster in an isolate of 128 MB, as a Durable Object has it: workerd without wrangler,
 * with that much heap, coordinator and gateways in one isolate. Everything is killed and starts again.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { openDatabase } from '../../../control-plane/local/open-database.ts';
import type { HeapUsage } from '../../../test/support/hosts/isolate-heap.ts';
import { freePort } from '../../../test/support/hosts/port.ts';
import type { LimitedWorkerd } from '../../../test/support/hosts/workerd/limited-workerd.ts';
import { eventually } from '../../../test/support/tools/eventually.ts';
import { Agents } from '../agents.ts';
import { application } from '../application.ts';
import { Deployment } from '../deployment.ts';
import { atLeast, bounded, floored, type Measurement, median } from '../figure.ts';
import { HeapWatch, totalMb } from '../heap-watch.ts';
import { runLoad, startLoad } from '../load.ts';
import { openStreams, type StreamClients } from '../stream-clients.ts';

/** Heap of V8, in the unit of its flag. */
const LIMIT_MIB = 128;
const LIMIT_MB = (LIMIT_MIB * 2 ** 20) / 1e6;
const HOSTS = 500;
/** Ten of the submitted services fill a host. */
const CORES = 1;
const RUNNING = 5_000;
const WAITING = 20_000;
/** As many as a user may have (H295). */
const EVENT_STREAMS = 50;
const LOG_READERS = 20;
const OUTPUT_BYTES_PER_S = 20_000;
/** Executions of the warm-up. They have ended. */
const WARM_UP = 50;
const FAN_OUTS = 50;
const LOAD_MS = 60_000;
const AFTER_MS = 30_000;
/** Clients of each kind of request, and their pause between requests. */
const [CLIENTS, PAUSE_MS] = [2, 100];
const SUBMITTERS = 16;
const SYNC_MS = 120_000;
const SETTLE_MS = 60_000;

interface Rig {
  deployment: Deployment & { workerd: LimitedWorkerd };
  watch: HeapWatch;
}

export async function measureIsolate(): Promise<Measurement[]> {
  const inspector = `127.0.0.1:${await freePort()}`;
  const v8Flags = [`--max-old-space-size=${LIMIT_MIB}`];
  const options = { keepPorts: true, args: [`--inspector-addr=${inspector}`] };
  await using deployment = await Deployment.onWorkerd('bench-isolate', {}, v8Flags, options);
  await using watch = new HeapWatch(inspector);
  const rig = { deployment, watch };
  await deployment.removeQuotaLimits();
  await warmUp(rig);
  return await measureCluster(rig);
}

const startAgents = ({ deployment }: Rig, agents: number, services: number, prefix: string): Agents =>
  new Agents(deployment, { agents, services, prefix, cores: CORES, outputBytesPerS: OUTPUT_BYTES_PER_S });

/** Submits executions of one service each. */
const submit = ({ deployment }: Rig, count: number) =>
  runLoad({ ...deployment.submissions(SUBMITTERS, application(), '{nowMs}'), requests: count });

async function openEvents({ deployment }: Rig): Promise<StreamClients> {
  const events = openStreams(deployment, Array<string>(EVENT_STREAMS).fill('events'));
  await eventually(() => events.connected() === EVENT_STREAMS);
  return events;
}

/** Reads the logs of the executions from `first` on. */
async function openLogs({ deployment }: Rig, first: number): Promise<StreamClients> {
  const paths: string[] = [];
  for (let id = first; id < first + LOG_READERS; id++)
    paths.push(`service/logs/${(await deployment.execution(id)).services[0]}`);
  const logs = openStreams(deployment, paths);
  await eventually(() => logs.connected() === LOG_READERS);
  return logs;
}

/** Does once what is measured later, so that code and caches do not count as objects. */
async function warmUp(rig: Rig): Promise<void> {
  const { deployment } = rig;
  const hosts = (WARM_UP * CORES) / 10;
  {
    await using agents = startAgents(rig, hosts, WARM_UP, 'warm-up');
    await agents.synced();
    const events = await openEvents(rig);
    await submit(rig, WARM_UP);
    await agents.run();
    const logs = await openLogs(rig, 1);
    await deployment.request('GET', 'execution');
    for (let id = 1; id <= WARM_UP; id++) await deployment.request('DELETE', `execution/${id}`);
    for (let id = 1; id <= WARM_UP; id++) await deployment.reaches(id, 'terminated');
    await Promise.all([events.close(), logs.close()]);
  }
  for (let id = 1; id <= hosts; id++) await deployment.request('DELETE', `host/${id}?force=true`);
}

async function measureCluster(rig: Rig): Promise<Measurement[]> {
  const { watch } = rig;
  const measured: Measurement[] = [];
  let before = await watch.live();
  const each = async <T>(what: string, count: number, mostBytes: number, make: () => Promise<T>) => {
    const made = await make();
    const now = await watch.live();
    const bytes = ((totalMb(now) - totalMb(before)) * 1e6) / count;
    before = now;
    measured.push(bounded(`memory of ${what}`, 'bytes', bytes, mostBytes));
    return made;
  };
  await using agents = startAgents(rig, HOSTS, RUNNING, 'host');
  await each('a connected host', HOSTS, 20_000, () => agents.synced());
  await each('a running service, an execution each', RUNNING, 5_000, async () => {
    await submit(rig, RUNNING);
    await agents.run();
  });
  await each('an execution that waits', WAITING, 500, () => submit(rig, WAITING));
  const events = await each('an open event stream', EVENT_STREAMS, 50_000, () => openEvents(rig));
  const logs = await each('a reader of a log', LOG_READERS, 200_000, () => openLogs(rig, WARM_UP + 1));
  measured.push(await measureFanOut(rig, events));
  measured.push(...(await underLoad(rig, logs, before)));
  measured.push(...(await restart(rig, agents, events, logs)));
  await checkRunning(rig, agents);
  measured.push(floored('what the isolate could hold besides', 'MB', await watch.room(), LIMIT_MB / 4));
  await Promise.all([events.close(), logs.close()]);
  return measured;
}

/** From the sending of a submission to the arrival of its event at all streams. */
async function measureFanOut({ deployment }: Rig, events: StreamClients): Promise<Measurement> {
  const times: number[] = [];
  for (let n = 0; n < FAN_OUTS; n++) {
    const beganMs = performance.now();
    await Promise.all([events.allReceive(), deployment.submit(application())]);
    times.push(performance.now() - beganMs);
  }
  return bounded(`submission -> its event at ${EVENT_STREAMS} streams`, 'ms', median(times), 500);
}

/** With garbage, which V8 collects once it needs the room. */
const largestOf = (when: string, { heapMb, buffersMb }: HeapUsage): Measurement[] => [
  bounded(`largest heap ${when}`, 'MB', heapMb, LIMIT_MB),
  bounded(`largest buffers ${when}`, 'MB', buffersMb, LIMIT_MB / 2),
];

/** Clients that end executions from `first` on, submit others and list: the worst of their p99. */
async function clientsFor({ deployment }: Rig, first: number, ms: number): Promise<number> {
  const loads = [
    { ...deployment.load('DELETE', 'execution/{n}', CLIENTS), first },
    deployment.submissions(CLIENTS, application()),
    deployment.load('GET', 'execution?limit=20', CLIENTS),
  ];
  const ends = loads.map((load) => startLoad({ ...load, pauseMs: PAUSE_MS }));
  await pause(ms);
  return Math.max(...(await Promise.all(ends.map((end) => end()))).map(({ p99Ms }) => p99Ms));
}

async function underLoad(rig: Rig, logs: StreamClients, before: HeapUsage): Promise<Measurement[]> {
  const { watch, deployment } = rig;
  logs.takeBytes();
  const p99Ms = await clientsFor(rig, WARM_UP + LOG_READERS + 1, LOAD_MS);
  const bytes = logs.takeBytes();
  const limit = (LOG_READERS * OUTPUT_BYTES_PER_S) / 1e6;
  const read = { figure: bytes / 1e3 / LOAD_MS, limit };
  const largest = watch.takeLargest();
  const growthMb = totalMb(await watch.live()) - totalMb(before);
  return [
    bounded('live before the load', 'MB', totalMb(before), LIMIT_MB / 2),
    ...largestOf('until and under load', largest),
    bounded('growth of what is live, by 60 s of load', 'MB', growthMb, 4),
    bounded('resident memory under load', 'MB', await deployment.residentMb(), 400),
    bounded('clients that end, submit and list, under load, p99', 'ms', p99Ms, 250),
    atLeast('logs that the readers get, of what is written', 'MB/s', read, 0.9),
  ];
}

/** Kills workerd and the database, and starts both again. */
async function restart(
  rig: Rig,
  agents: Agents,
  events: StreamClients,
  logs: StreamClients,
): Promise<Measurement[]> {
  const { deployment, watch } = rig;
  const { workerd } = deployment;
  await Promise.all([workerd.kill(), workerd.database.kill()]);
  // What arrived before belongs to the former connections.
  agents.drop();
  const startMs = performance.now();
  const after = (what: string, most: number) =>
    bounded(`restart of everything, until ${what}`, 's', (performance.now() - startMs) / 1_000, most);
  await workerd.database.restart();
  await workerd.start();
  await eventually(() => deployment.execution(1), SYNC_MS);
  const answers = after('a request is answered', 10);
  await agents.synced();
  const synced = after('all agents are in sync', 30);
  await eventually(() => events.connected() === EVENT_STREAMS && logs.connected() === LOG_READERS, SETTLE_MS);
  const open = after('all streams are open again', 30);
  const p99Ms = await clientsFor(rig, WARM_UP + RUNNING / 2, AFTER_MS);
  return [
    answers,
    synced,
    open,
    ...largestOf('from the restart on', watch.takeLargest()),
    bounded('live after the restart', 'MB', totalMb(await watch.live()), LIMIT_MB / 2),
    bounded('resident memory after the restart', 'MB', await deployment.residentMb(), 400),
    bounded('the same clients after the restart, p99', 'ms', p99Ms, 250),
  ];
}

/** Throws unless every place is taken again, and no service was started twice. */
async function checkRunning({ deployment }: Rig, agents: Agents): Promise<void> {
  const db = await openDatabase(deployment.databaseUrl, undefined);
  await eventually(async () => {
    const [row] = await db.query(`SELECT count(*) AS running FROM executions WHERE status = 'running'`);
    return row?.running === RUNNING;
  }, SETTLE_MS).finally(() => db.close());
  await eventually(async () => {
    const { running, twice } = await agents.summary();
    if (twice > 0) throw new Error(`${twice} services were started twice`);
    return running === RUNNING;
  }, SETTLE_MS);
}
