/**
 * The attack on the queue against the bundle for Cloudflare, with as little heap as a Durable Object has and
 * the default bounds there. Several users take part, since each may have 2,000 executions waiting. Set
 * QUEUE_ATTACK=full to run it with the counts of the review that found it.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type Account,
  flood,
  longText,
  manyInstances,
  serviceDuring,
} from '../../support/attacks/queue-flood.ts';
import { AccountClient } from '../../support/clients/account-client.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { ADMIN_PASSWORD } from '../../support/hosts/hosts.ts';
import { type LimitedWorkerd, startLimitedWorkerd } from '../../support/hosts/workerd/limited-workerd.ts';

const isFull = process.env.QUEUE_ATTACK === 'full';
const SMALL = isFull ? 25_000 : 1_000;
const LARGE = isFull ? 500 : 15;
/** Requests of another user that are answered while the attack goes on, one after the other. */
const MIN_SERVED = 20;
const MAX_RESTART_MS = 10_000;
/** A user may have 32 MiB of descriptions waiting: 36 of 910 KB, or 37. */
const LARGE_USERS = isFull ? 12 : 1;
/** A user may have 2,000 executions waiting, and all together 20,000. */
const SMALL_USERS = isFull ? 11 : 1;
const MAX_WAITING = 20_000;

const PASSWORD = 'secret words';
const OTHER = { name: 'other', password: PASSWORD };
const attackersOf = (kind: string, count: number): Account[] =>
  Array.from({ length: count }, (_, at) => ({ name: `${kind}${at}`, password: PASSWORD }));
const largeAttackers = attackersOf('large', LARGE_USERS);
const smallAttackers = attackersOf('small', SMALL_USERS);

let workerd: LimitedWorkerd;
beforeAll(async () => {
  workerd = await startLimitedWorkerd(['--max-old-space-size=128'], {
    BERTH_DEPLOYMENT_NAME: 'e2e-limited',
    BERTH_ADMIN_PASSWORD: ADMIN_PASSWORD,
  });
  const accounts = new AccountClient(() => workerd);
  for (const { name } of [...largeAttackers, ...smallAttackers, OTHER]) await accounts.addUser(name);
}, 60_000);
afterAll(() => workerd?.stop());

test('C174, C175, C177: with 128 MB of heap, workerd survives an attack on the queue, serves others meanwhile, and is ready again soon', {
  timeout: 600_000,
}, async () => {
  const rest = () => new ApiClient(workerd.url(), OTHER.name, OTHER.password);
  const first = await rest().submit(manyInstances);
  const served = await serviceDuring(workerd.url(), OTHER, async () => {
    const large = await flood(workerd.url(), largeAttackers, LARGE, longText);
    const small = await flood(workerd.url(), smallAttackers, SMALL, manyInstances);
    const accepted = (large[200] ?? 0) + (small[200] ?? 0);
    console.log({ large, small });
    if (isFull) {
      expect(accepted).toBeGreaterThan(MAX_WAITING - 100);
      expect(accepted).toBeLessThan(MAX_WAITING * 1.1);
    }
    const expected = isFull ? ['200', '429'] : ['200'];
    expect([large, small].map((answers) => Object.keys(answers))).toEqual([expected, expected]);
  });
  const residentMb = await workerd.residentMb();
  const startMs = performance.now();
  await workerd.kill();
  await workerd.start();
  const last = await rest().submit(manyInstances);
  const restartMs = performance.now() - startMs;
  console.log({ ...served, residentMb, restartMs, residentAfterMb: await workerd.residentMb() });
  expect(served.failed).toBe(0);
  expect(served.requests).toBeGreaterThan(MIN_SERVED);
  expect(await rest().execution(first)).toMatchObject({ status: 'queued' });
  expect((await rest().execution(last)).services).toHaveLength(1_000);
  expect(restartMs).toBeLessThan(MAX_RESTART_MS);
});
