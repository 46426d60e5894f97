/**
 * Measures the list of executions, and a history of a million: filters, pages and counts, a start, a backup,
 * and what it costs to remove it.
 */
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { openEmbedded } from '../../../control-plane/store/db/embedded.ts';
import { startProgram } from '../../../test/support/hosts/process.ts';
import { eventually } from '../../../test/support/tools/eventually.ts';
import { scratchFolder } from '../../../test/support/tools/folder.ts';
import { Deployment, ROOM } from '../deployment.ts';
import { atMost, bounded, floored, type Measurement, median } from '../figure.ts';
import { addHistory, FIRST_MS } from '../history-rows.ts';
import { runLoad, startLoad } from '../load.ts';

const ALL = 1_000_000;
/** Read as one list, and removed to the end, which would take hours for all. */
const FEW = 10_000;
const LIST_ROUNDS = 5;
const CLIENTS = 2;
const REQUESTS = 300;
const REVIEW_S = 30;
const MAX_REMOVAL_MS = 600_000;

const API = 'execution?limit=20';
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
    const place = new Place(await scratchFolder('berth-bench-history-'));
    await (await place.start(0)).stop();
    await addHistory(place.url, count);
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

  [Symbol.asyncDispose](): Promise<void> {
    return rm(this.folder, { recursive: true, force: true });
  }
}

export async function measureHistory(): Promise<Measurement[]> {
  await using place = await Place.make(ALL);
  return [...(await measureUse(place)), ...(await measureReview(place)), ...(await measureFew())];
}

async function measureUse(place: Place): Promise<Measurement[]> {
  const startMs = performance.now();
  await using deployment = await place.start(0);
  const measurements = [
    bounded('a start over 1,000,000 ended executions', 'ms', performance.now() - startMs, 3_000),
  ];
  for (const [name, path] of requests) {
    const { p99Ms, processorMs } = await measureRequest(deployment, path);
    measurements.push(
      bounded(`${name}, p99`, 'ms', p99Ms, 20),
      bounded(`${name}, processor time`, 'ms', processorMs, 10),
    );
  }
  return [...measurements, ...(await measureBackup(deployment, place))];
}

/** The processor time, unlike the latency, depends little on what else the machine does. */
async function measureRequest(
  deployment: Deployment,
  path: string,
): Promise<{ p99Ms: number; processorMs: number }> {
  const load = deployment.load('GET', path, CLIENTS);
  await runLoad({ ...load, requests: REQUESTS / 10 });
  let p99Ms = Number.NaN;
  const processorMs = await deployment.processorMsOf(async () => {
    ({ p99Ms } = await runLoad({ ...load, requests: REQUESTS }));
  });
  return { p99Ms, processorMs: processorMs / REQUESTS };
}

/** The 99th percentile of clients that pause between requests, as people do. */
async function visitsFor(deployment: Deployment, during: () => Promise<unknown>): Promise<number> {
  const end = startLoad({ ...deployment.load('GET', API, CLIENTS), pauseMs: 10 });
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
  const both = { figure: meanwhile, limit: alone };
  return [
    bounded('a backup of it while in use', 's', backupMs / 1_000, 60),
    bounded('20 of all during the backup, p99 (limit: without)', 'ms', both, 100),
  ];
}

/** Percent of one processor that a control plane uses while nobody sends it anything. */
async function processorShare(deployment: Deployment): Promise<number> {
  return (await deployment.processorMsOf(() => pause(REVIEW_S * 1_000))) / (10 * REVIEW_S);
}

interface History {
  removed: number;
  reviewed: number | null;
}

const historyOf = async (deployment: Deployment): Promise<History> =>
  (await deployment.json<{ history: History }>('GET', 'statistics/scheduler')).history;

/** All executions are older than 90 days. A start waits 5 s before its first review. */
async function measureReview(place: Place): Promise<Measurement[]> {
  const idle = await place.start(0);
  await pause(10_000);
  const idleShare = await processorShare(idle);
  const alone = await visitsFor(idle, () => pause(REVIEW_S * 1_000));
  await idle.stop();
  await place.settle();
  await using deployment = await place.start(90);
  await pause(10_000);
  const before = await historyOf(deployment);
  const share = await processorShare(deployment);
  const removed = (await historyOf(deployment)).removed - before.removed;
  const meanwhile = await visitsFor(deployment, () => pause(REVIEW_S * 1_000));
  const [shares, p99s] = [
    { figure: share, limit: idleShare },
    { figure: meanwhile, limit: alone },
  ];
  return [
    bounded('processor time for removing executions (limit: idle)', '%', shares, 5),
    floored('removed executions', '/s', removed / REVIEW_S, 20),
    bounded('20 of all while executions are removed, p99 (limit: without)', 'ms', p99s, 20),
  ];
}

/** The whole list, and the removal of all that it has. */
async function measureFew(): Promise<Measurement[]> {
  await using place = await Place.make(FEW);
  const listed = await place.start(0);
  const lists: number[] = [];
  for (let round = 0; round < LIST_ROUNDS; round++) lists.push(await wholeListMs(listed));
  await listed.stop();
  await place.settle();
  const limit = await place.megabytes();
  const deployment = await place.start(90);
  await eventually(async () => {
    const { removed, reviewed } = await historyOf(deployment);
    return removed === FEW && reviewed !== null;
  }, MAX_REMOVAL_MS);
  await deployment.stop();
  await place.settle();
  const figure = await place.megabytes();
  const name = 'file after the removal of all of 10,000 executions (limit: before)';
  return [bounded('list of 10,000', 'ms', median(lists), 500), atMost(name, 'MB', { figure, limit }, 0.2)];
}

async function wholeListMs(deployment: Deployment): Promise<number> {
  const startMs = performance.now();
  const list = await (await deployment.request('GET', 'execution')).text();
  const ms = performance.now() - startMs;
  const found = Object.keys(JSON.parse(list)).length;
  if (found !== FEW) throw new Error(`the list has ${found} executions instead of ${FEW}`);
  return ms;
}
