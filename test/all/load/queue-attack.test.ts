/**
 * An attack on the queue: one user submits as much as fits nowhere. The full counts are those of the review
 * that found it; set QUEUE_ATTACK=full to run them.
 */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type Account,
  flood,
  longText,
  manyInstances,
  serviceDuring,
} from '../../support/attacks/queue-flood.ts';
import { ROLE } from '../../support/clients/account-client.ts';
import { type Berth, PASSWORD, startBerth } from '../../support/rigs/berth.ts';
import { eventually } from '../../support/tools/eventually.ts';

const isFull = process.env.QUEUE_ATTACK === 'full';
/** The default bound of a user admits 10,000. */
const SMALL = isFull ? 15_700 : 2_000;
const LARGE = isFull ? 400 : 40;
const MAX_RESIDENT_MB = 400;
const MAX_SETTLING_MS = 60_000;
/** Requests of another user that are answered while the attack goes on, one after the other. */
const MIN_SERVED = 20;

const ADMIN: Account = { name: 'admin', password: PASSWORD };
const OTHER: Account = { name: 'other', password: PASSWORD };

let berth: Berth;
beforeAll(async () => {
  berth = await startBerth({
    deployment: 'e2e-queue-attack',
    env: {
      BERTH_LOCAL_AGENT: 'off',
      BERTH_LIMITS: JSON.stringify({ waitingPerUser: 100_000, waitingBytesPerUser: '1000MiB' }),
    },
  });
});
afterAll(() => berth.close());

async function residentMb(): Promise<number> {
  const status = await readFile(`/proc/${berth.program.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1_024;
}

async function addUser({ name, password }: Account): Promise<void> {
  const fields = { username: name, role_id: ROLE.user, quota_id: 1 };
  const { http } = berth.api;
  const { user_id } = (await http.post('user', fields)).json();
  expect((await http.post(`user/${user_id}`, { password })).status).toBe(200);
}

test('C174, C175: during an attack on the queue others are served, the memory stays small, and a restart is ready', {
  timeout: 300_000,
}, async () => {
  await addUser(OTHER);
  const one = await berth.api.submit(manyInstances);
  const served = await serviceDuring(berth.url, OTHER, async () => {
    expect(await flood(berth.url, [ADMIN], SMALL, manyInstances)).toEqual({ 200: SMALL });
    expect(await flood(berth.url, [ADMIN], LARGE, longText)).toEqual({ 200: LARGE });
  });
  const atEndMb = await residentMb();
  // The last bodies are garbage that is not collected yet.
  const settledMb = await eventually(async () => {
    const mb = await residentMb();
    return mb < MAX_RESIDENT_MB ? mb : undefined;
  }, MAX_SETTLING_MS);
  expect(served.failed).toBe(0);
  expect(served.requests).toBeGreaterThan(MIN_SERVED);
  const { services, status } = await berth.api.execution(one);
  expect([status, services.length]).toEqual(['queued', 1_000]);
  await berth.program.kill();
  const startMs = performance.now();
  await berth.start();
  const last = await berth.api.submit(manyInstances);
  const restartMs = performance.now() - startMs;
  expect((await berth.api.execution(one)).status).toBe('queued');
  expect(last).toBeGreaterThan(SMALL + LARGE);
  expect(await residentMb()).toBeLessThan(MAX_RESIDENT_MB);
  console.log({ ...served, atEndMb, settledMb, restartMs, residentAfterMb: await residentMb() });
});
