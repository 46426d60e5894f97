/**
 * Measures what bursts of changes by one user cost another who submits, with the database 40 ms away, and
 * whether the lease of a host survives them.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
import { type Program, startProgram } from '../../../test/support/hosts/process.ts';
import { queuedApplication } from '../application.ts';
import { Deployment, PASSWORD } from '../deployment.ts';
import { withDistantDatabase } from '../distant-database.ts';
import { atMost, type Measurement } from '../figure.ts';
import { type Load, type LoadResult, runLoad } from '../load.ts';
import type { StormLoad } from './storm.ts';

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

/** What burst-program.ts prints: answers by path and status. */
interface BurstResult {
  bursts: number;
  answers: Record<string, number>;
}

/** Requests of one burst. */
const BURST = 500;
const SUBMISSIONS = 1_000;
/** 1,000 submissions by these take about a minute. */
const CLIENTS = 4;
const PAUSE_MS = 150;
const LOST_AFTER_S = 15;
const MAX_END_MS = 120_000;

export async function measureBursts(): Promise<Measurement[]> {
  return await withDistantDatabase(async ({ serverUrl, distantUrl }) => {
    const deployment = await Deployment.start('bench-bursts', 'off', {
      BERTH_DATABASE_URL: distantUrl,
      BERTH_SECRET_KEYS: randomBytes(32).toString('base64'),
      BERTH_HOST_LOSS: 'requeue',
      BERTH_LIMITS: JSON.stringify({ hostLostAfterS: LOST_AFTER_S }),
    });
    try {
      return await beside(deployment, serverUrl);
    } finally {
      await deployment.stop();
    }
  });
}

async function beside(deployment: Deployment, databaseUrl: string): Promise<Measurement[]> {
  const { url, name } = deployment;
  const host: StormLoad = { url, deployment: name, databaseUrl, agents: 1, services: 0 };
  const agent = startProgram(['tools/bench/programs/storm-program.ts', JSON.stringify(host)]);
  await agent.waitFor(/^synced$/m);
  const other = await deployment.addUser('other');
  const busy = await deployment.addUser('busy');
  const submissions: Load = {
    ...{ port: Number(new URL(url).port), method: 'POST', path: '/api/0.7/execution' },
    headers: { cookie: other },
    body: JSON.stringify({ name: 'bench', application: queuedApplication() }),
    ...{ clients: CLIENTS, pauseMs: PAUSE_MS, requests: SUBMISSIONS },
  };
  const alone = await runLoad(submissions);
  const load: BurstLoad = {
    ...{ url, requests: BURST, password: PASSWORD, userId: await idOf(deployment, 'busy') },
    authorization: `Basic ${Buffer.from(`busy:${PASSWORD}`).toString('base64')}`,
    executionId: await deployment.submit(queuedApplication(), busy),
  };
  const bursts = startProgram(['tools/bench/programs/burst-program.ts', JSON.stringify(load)]);
  const [among, losses] = await watched(deployment, () => runLoad(submissions));
  const { bursts: sent, answers } = await endOf(bursts);
  await agent.kill();
  console.error(`${sent} bursts, answered:`, answers);
  return [
    {
      name: `POST execution, p99, while another user requests ${BURST} changes at a moment, again and again`,
      unit: 'ms',
      figure: among.p99Ms,
      limit: alone.p99Ms,
      goal: atMost(2),
    },
    {
      name: `times that a host with a lease of ${LOST_AFTER_S} s was lost meanwhile`,
      unit: '',
      figure: losses,
      goal: atMost(0, 'figure'),
    },
  ];
}

const usersSchema = z.record(z.string(), z.object({ id: z.number(), username: z.string() }));

async function idOf(deployment: Deployment, username: string): Promise<number> {
  const users = usersSchema.parse(await (await deployment.request('GET', 'user')).json());
  const found = Object.values(users).find((user) => user.username === username);
  if (!found) throw new Error(`there is no user ${username}`);
  return found.id;
}

const hostsSchema = z.record(z.string(), z.object({ state: z.string() }));

/** Runs `measure`, and counts how often a host was not connected, by a look each second. */
async function watched(
  deployment: Deployment,
  measure: () => Promise<LoadResult>,
): Promise<[LoadResult, number]> {
  let isOver = false;
  let losses = 0;
  const measuring = measure().finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const hosts = hostsSchema.parse(await (await deployment.request('GET', 'host')).json());
    losses += Object.values(hosts).filter(({ state }) => state === 'lost').length;
    await pause(1_000);
  }
  return [await measuring, losses];
}

async function endOf(program: Program): Promise<BurstResult> {
  if (program.ended === undefined) process.kill(program.pid, 'SIGTERM');
  const code = await program.waitForEnd(MAX_END_MS);
  if (code !== 0) throw new Error(`the bursts ended with exit code ${code}: ${program.output}`);
  const [line = ''] = (await program.waitFor(/^\{.*\}$/m)) ?? [];
  return JSON.parse(line) as BurstResult;
}
