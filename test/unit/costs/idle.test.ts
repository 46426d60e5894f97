/** What an idle cluster sends: the real coordinator and real agents, ten minutes of virtual time. */
import { rm } from 'node:fs/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { openEmbedded } from '../../../control-plane/store/db/embedded.ts';
import { idle, requeue } from '../../support/costs/counts.ts';
import { type Metered, MeteredBerth } from '../../support/costs/metered-berth.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { scratchFolder } from '../../support/tools/folder.ts';

const MINUTES = 10;
const MINUTE_MS = 60_000;
const MAX_ATTEMPTS = 10_000;
const description = application(service());

/** What a cluster of these hosts, each with a running service, uses in a minute. */
async function idleMinute(hosts: readonly string[], settings: NodeJS.ProcessEnv = {}): Promise<Metered> {
  const folder = await scratchFolder('berth-idle-');
  const db = await openEmbedded(':memory:');
  const berth = await MeteredBerth.open(db, folder, settings);
  vi.useFakeTimers();
  onTestFinished(async () => {
    vi.useRealTimers();
    await berth.close();
    await db.close();
    await rm(folder, { recursive: true });
  });
  const engines = [];
  for (const name of hosts) engines.push(await berth.addHost(name));
  await vi.advanceTimersByTimeAsync(1000);
  for (const name of hosts) {
    const text = JSON.stringify(description);
    const submitted = berth.coordinator.submit({
      userId: 1,
      name,
      application: description,
      description: text,
    });
    await vi.advanceTimersByTimeAsync(100);
    await submitted;
  }
  await runs(db, hosts.length);
  await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
  // What began in real time, such as a read of a folder, ends at any moment of the virtual one.
  for (let [last, requests] = [-1, -2]; requests !== last; ) {
    const { databaseRequests } = berth.metered;
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    [last, requests] = [requests, berth.metered.databaseRequests - databaseRequests];
  }
  const running = engines.flatMap(({ containers }) => [...containers.values()]);
  expect(running.map(({ state }) => state)).toEqual(hosts.map(() => 'running'));
  const before = { ...berth.metered };
  await vi.advanceTimersByTimeAsync(MINUTES * MINUTE_MS);
  const spent = Object.entries(berth.metered).map(([name, count]) => [
    name,
    (count - before[name as keyof Metered]) / MINUTES,
  ]);
  return Object.fromEntries(spent);
}

/** Lets virtual time pass until the control plane knows of so many running executions. */
async function runs(db: Db, count: number): Promise<void> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const [row] = await db.query(`SELECT count(*) AS running FROM executions WHERE status = 'running'`);
    if (row?.running === count) return;
    await vi.advanceTimersByTimeAsync(100);
  }
  throw new Error(`not all of ${count} executions run`);
}

test('H401: an idle host sends pulses only, as many as the formula counts, and nobody is called', async () => {
  expect(await idleMinute(['one', 'two', 'three'])).toMatchObject({
    messages: 3 * idle.messagesPerHostMinute,
    pulses: 3 * idle.pulsesPerHostMinute,
    gatewayCalls: idle.gatewayCallsPerMinute,
    databaseRequests: idle.databaseRequestsPerMinute,
    objectCalls: 0,
  });
});

test('H401, H402: alarms ring and are set as often as the formula counts, however many hosts there are', async () => {
  for (const hosts of [['one'], ['one', 'two', 'three', 'four']]) {
    const { alarms, alarmSettings, gatewayAlarms } = await idleMinute(hosts);
    expect(alarms).toBeLessThanOrEqual(idle.alarmsPerMinute);
    expect(alarmSettings).toBeLessThanOrEqual(idle.alarmsPerMinute);
    expect(gatewayAlarms).toBeGreaterThan(0);
    expect(gatewayAlarms).toBeLessThanOrEqual(idle.alarmsPerGatewayMinute);
  }
});

test('H401: with requeue each host reports, and the coordinator confirms its epoch, as often as the formula counts', async () => {
  const { messages, gatewayCalls, databaseRequests, alarms, alarmSettings } = await idleMinute(
    ['one', 'two'],
    {
      BERTH_HOST_LOSS: 'requeue',
    },
  );
  expect(alarms).toBeLessThanOrEqual(requeue.alarmsPerMinute);
  expect(alarmSettings).toBeLessThanOrEqual(requeue.alarmsPerMinute);
  expect(messages).toBe(2 * requeue.messagesPerHostMinute);
  expect(gatewayCalls).toBeGreaterThan(0);
  expect(gatewayCalls).toBeLessThanOrEqual(requeue.maxCallsPerGatewayMinute);
  expect(databaseRequests).toBeGreaterThan(0);
  expect(databaseRequests).toBeLessThanOrEqual(requeue.databaseRequestsPerMinute);
});
