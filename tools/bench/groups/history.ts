/**
 * Measures a history of a million ended executions: filters, pages and counts, a start, a backup, and what it
 * costs to remove it.
 */
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import { openEmbedded } from '../../../control-plane/store/db/embedded.ts';
import { startProgram } from '../../../test/support/hosts/process.ts';
import { Deployment, ROOM } from '../deployment.ts';
import { atMost, type Measurement } from '../figure.ts';
import { type LoadResult, runLoad, startLoad } from '../load.ts';
import { addUsers, FIRST_MS } from '../many.ts';
import { addYears } from '../years.ts';

const ALL = 1_000_000;
/** The limit of each filter is the same filter on so many. */
const SHORT = 1_000;
/** Removed to the end, which would take hours for all. */
const REMOVED = 10_000;
const CLIENTS = 2;
const REQUESTS = 300;
const REVIEW_S = 30;
const MAX_REMOVAL_MS = 600_000;

const API = '/api/0.7/execution?limit=20';
const at = (part: number) => FIRST_MS / 1_000 + part * ALL;

const requests: readonly [name: string, path: string][] = [
  ['20 of all', API],
  ['by status', `${API}&status=error`],
  ['by user and status', `${API}&user_id=7&status=error`],
  ['by user, ended later than half', `${API}&user_id=7&later_than_end=${at(0.5)}`],
  ['by name', `${API}&name=name-7`],
  ['submitted between', `${API}&later_than_submit=${at(0.5)}&earlier_than_submit=${at(0.6)}`],
  ['started earlier than most', `${API}&earlier_than_start=${at(0.01)}`],
  ['started later than all', `${API}&later_than_start=${at(2)}`],
  ['ended later than all', `${API}&later_than_end=${at(2)}`],
  ['ended within a minute long ago', `${API}&later_than_end=${at(0.5)}&earlier_than_end=${at(0.5) + 60}`],
  [
    'started within a minute long ago',
    `${API}&later_than_start=${at(0.5)}&earlier_than_start=${at(0.5) + 60}`,
  ],
  ['page with counts', '/executions'],
  ['page of a user', '/executions?owner=user-7'],
  ['page of a part of a name that does not occur', '/executions?name=nobody'],
];

/** A database whose control plane starts and ends several times. */
class Place {
  readonly folder: string;
  constructor(folder: string) {
    this.folder = folder;
  }

  /** With `count` ended executions. */
  static async make(count: number): Promise<Place> {
    const place = new Place(await mkdtemp(join(tmpdir(), 'berth-bench-history-')));
    await (await place.start(0)).stop();
    await addUsers(place.url);
    await addYears(place.url, count);
    return place;
  }

  get path(): string {
    return join(this.folder, 'berth.db');
  }

  get url(): string {
    return pathToFileURL(this.path).href;
  }

  /** Has the next start review the history at once, and moves the write-ahead log into the file. */
  async settle(): Promise<void> {
    const db = await openEmbedded(this.url);
    await db.query('UPDATE coordinator SET reviewed_ms = 0');
    await db.query('PRAGMA wal_checkpoint(TRUNCATE)');
    await db.close();
  }

  async megabytes(): Promise<number> {
    return (await stat(this.path)).size / 1e6;
  }

  start(endedDays: number): Promise<Deployment> {
    const BERTH_LIMITS = JSON.stringify({ ...ROOM, endedDays });
    return Deployment.start('bench-history', 'off', { BERTH_DATA_DIR: this.folder, BERTH_LIMITS });
  }

  remove(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true });
  }
}

export async function measureHistory(): Promise<Measurement[]> {
  const short = await Place.make(SHORT);
  const long = await Place.make(ALL);
  try {
    const measurements = [await measureStartOver(long, short)];
    const [one, other] = [await long.start(0), await short.start(0)];
    try {
      measurements.push(...(await measureRequests(one, other)), ...(await measureBackup(one, long)));
    } finally {
      await one.stop();
      await other.stop();
    }
    measurements.push(...(await measureReview(long)));
    return [...measurements, ...(await measureRemoval())];
  } finally {
    await short.remove();
    await long.remove();
  }
}

/** Until the first login is answered. */
async function measureStartOver(long: Place, short: Place): Promise<Measurement> {
  const timeMs = async (place: Place) => {
    const startMs = performance.now();
    const deployment = await place.start(0);
    const ms = performance.now() - startMs;
    await deployment.stop();
    return ms;
  };
  await timeMs(short);
  const name = 'a start over 1,000,000 ended executions, and over 1,000';
  return {
    name,
    unit: 'ms',
    figure: await timeMs(long),
    limit: await timeMs(short),
    goal: atMost(3_000, 'figure'),
  };
}

/** The processor time, unlike the latency, depends little on what else the machine does. */
async function measureRequests(long: Deployment, short: Deployment): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  for (const [name, path] of requests) {
    const [one, other] = [await measureRequest(long, path), await measureRequest(short, path)];
    measurements.push(
      { name: `${name}, p99`, unit: 'ms', figure: one.p99Ms, limit: other.p99Ms, goal: atMost(20, 'figure') },
      {
        name: `${name}, processor time`,
        unit: 'ms',
        figure: one.processorMs,
        limit: other.processorMs,
        goal: atMost(10, 'figure'),
      },
    );
  }
  return measurements;
}

const loadOf = ({ url, cookie }: Deployment, path: string) => ({
  port: Number(new URL(url).port),
  method: 'GET',
  path,
  headers: { cookie },
  clients: CLIENTS,
});

async function measureRequest(
  deployment: Deployment,
  path: string,
): Promise<{ p99Ms: number; processorMs: number }> {
  const load = loadOf(deployment, path);
  await runLoad({ ...load, requests: REQUESTS / 10 });
  const before = await processorMs(deployment.pid);
  const { p99Ms } = await runLoad({ ...load, requests: REQUESTS });
  return { p99Ms, processorMs: ((await processorMs(deployment.pid)) - before) / REQUESTS };
}

/** Clients that pause between requests, as people do. */
const startVisits = (deployment: Deployment): (() => Promise<LoadResult>) =>
  startLoad({ ...loadOf(deployment, API), pauseMs: 10 });

async function visitsFor(deployment: Deployment, during: () => Promise<unknown>): Promise<number> {
  const end = startVisits(deployment);
  await during();
  return (await end()).p99Ms;
}

async function measureBackup(deployment: Deployment, { folder }: Place): Promise<Measurement[]> {
  const copy = join(folder, 'copy.db');
  let backupMs = 0;
  const meanwhile = await visitsFor(deployment, async () => {
    const startMs = performance.now();
    const program = startProgram(['control-plane/backup.ts', copy], { env: { BERTH_DATA_DIR: folder } });
    const ended = await program.waitForEnd(MAX_REMOVAL_MS);
    if (ended !== 0) throw new Error(`the backup ended with exit code ${ended}: ${program.output}`);
    backupMs = performance.now() - startMs;
  });
  const alone = await visitsFor(deployment, () => pause(backupMs));
  await rm(copy);
  return [
    { name: 'a backup of it while in use', unit: 's', figure: backupMs / 1_000, goal: atMost(60, 'figure') },
    {
      name: '20 of all during the backup, p99, and without it',
      unit: 'ms',
      figure: meanwhile,
      limit: alone,
      goal: atMost(100, 'figure'),
    },
  ];
}

/** Percent of one processor that a process uses while nobody sends it anything. */
async function processorShare(pid: number): Promise<number> {
  const before = await processorMs(pid);
  await pause(REVIEW_S * 1_000);
  return ((await processorMs(pid)) - before) / (10 * REVIEW_S);
}

/** User and system time, from clock ticks of 10 ms. */
async function processorMs(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

const historySchema = z.object({ history: z.object({ removed: z.number() }) });
const removedBy = async (deployment: Deployment): Promise<number> =>
  historySchema.parse(await (await deployment.request('GET', 'statistics/scheduler')).json()).history.removed;

/** All executions are older than 90 days. A start waits 5 s before its first review. */
async function measureReview(place: Place): Promise<Measurement[]> {
  const idle = await place.start(0);
  await pause(10_000);
  const idleShare = await processorShare(idle.pid);
  const alone = await visitsFor(idle, () => pause(REVIEW_S * 1_000));
  await idle.stop();
  await place.settle();
  const deployment = await place.start(90);
  try {
    await pause(10_000);
    const before = await removedBy(deployment);
    const share = await processorShare(deployment.pid);
    const removed = (await removedBy(deployment)) - before;
    const meanwhile = await visitsFor(deployment, () => pause(REVIEW_S * 1_000));
    const visits = '20 of all while executions are removed, p99, and without it';
    return [
      {
        name: 'processor time for removing executions, and idle without',
        unit: '%',
        figure: share,
        limit: idleShare,
        goal: atMost(5, 'figure'),
      },
      {
        name: 'removed executions',
        unit: '/s',
        figure: removed / REVIEW_S,
        goal: { of: 'figure', bound: 'min', amount: 20 },
      },
      { name: visits, unit: 'ms', figure: meanwhile, limit: alone, goal: atMost(20, 'figure') },
    ];
  } finally {
    await deployment.stop();
  }
}

async function measureRemoval(): Promise<Measurement[]> {
  const place = await Place.make(REMOVED);
  try {
    await place.settle();
    const limit = await place.megabytes();
    const deployment = await place.start(90);
    const deadlineMs = performance.now() + MAX_REMOVAL_MS;
    while ((await reviewed(deployment)) === false && performance.now() < deadlineMs) await pause(1_000);
    await deployment.stop();
    await place.settle();
    const figure = await place.megabytes();
    const name = 'file after the removal of all of 10,000 executions, and before';
    return [{ name, unit: 'MB', figure, limit, goal: atMost(0.2) }];
  } finally {
    await place.remove();
  }
}

const reviewed = async (deployment: Deployment): Promise<boolean> =>
  (await removedBy(deployment)) === REMOVED &&
  !/"reviewed":null/.test(await (await deployment.request('GET', 'statistics/scheduler')).text());
