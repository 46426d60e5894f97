/**
 * Measures what bursts of changes by one user cost another who submits, with the database 40 ms away, and
 * whether the lease of a host survives them.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { startProgram } from '../../../test/support/hosts/process.ts';
import { Agents } from '../agents.ts';
import { queuedApplication } from '../application.ts';
import { basic, Deployment, PASSWORD } from '../deployment.ts';
import { startDistantDatabase } from '../distant-database.ts';
import { atMost, bounded, type Measurement } from '../figure.ts';
import { resultOf, runLoad } from '../load.ts';

/** Task of burst-program.ts. */
export interface BurstLoad {
  url: string;
  /** Requests of one burst. */
  requests: number;
  userId: number;
  authorization: string;
  password: string;
  /** An execution of the user that waits. */
  executionId: number;
}

const BURST = 500;
const SUBMISSIONS = 1_000;
/** 1,000 submissions by these take about a minute. */
const CLIENTS = 4;
const PAUSE_MS = 150;
const LOST_AFTER_S = 15;
const MAX_END_MS = 120_000;

export async function measureBursts(): Promise<Measurement[]> {
  await using database = await startDistantDatabase();
  await using deployment = await Deployment.start('bench-bursts', 'off', {
    BERTH_DATABASE_URL: database.distantUrl,
    BERTH_SECRET_KEYS: randomBytes(32).toString('base64'),
    BERTH_HOST_LOSS: 'requeue',
    BERTH_LIMITS: JSON.stringify({ hostLostAfterS: LOST_AFTER_S }),
  });
  const { url, name } = deployment;
  const place = { url, name, databaseUrl: database.serverUrl };
  await using agent = new Agents(place, { agents: 1, services: 0 });
  await agent.synced();
  return await beside(deployment);
}

async function beside(deployment: Deployment): Promise<Measurement[]> {
  const other = await deployment.addUser('other');
  const busy = await deployment.addUser('busy');
  const submissions = {
    ...deployment.submissions(CLIENTS),
    headers: { cookie: other.cookie },
    pauseMs: PAUSE_MS,
    requests: SUBMISSIONS,
  };
  const alone = await runLoad(submissions);
  const load: BurstLoad = {
    url: deployment.url,
    requests: BURST,
    password: PASSWORD,
    userId: busy.id,
    authorization: basic('busy'),
    executionId: await deployment.submit(queuedApplication(), busy.cookie),
  };
  const bursts = startProgram(['tools/bench/programs/burst-program.ts', JSON.stringify(load)]);
  const measuring = new AbortController();
  const losses = countLosses(deployment, measuring.signal);
  const among = await runLoad(submissions).finally(() => measuring.abort());
  process.kill(bursts.pid, 'SIGTERM');
  console.error(await resultOf(bursts, MAX_END_MS));
  const name = `POST execution, p99, while another user requests ${BURST} changes at a moment, again and again`;
  return [
    atMost(name, 'ms', { figure: among.p99Ms, limit: alone.p99Ms }, 2),
    bounded(`times that a host with a lease of ${LOST_AFTER_S} s was lost meanwhile`, '', await losses, 0),
  ];
}

/** Counts how often the host was lost, by a look each second. */
async function countLosses(deployment: Deployment, end: AbortSignal): Promise<number> {
  let losses = 0;
  while (!end.aborted) {
    const hosts = await deployment.json<Record<string, { state: string }>>('GET', 'host');
    losses += Object.values(hosts).filter(({ state }) => state === 'lost').length;
    await pause(1_000);
  }
  return losses;
}
