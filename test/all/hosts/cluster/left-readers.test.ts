/** Readers of logs on workerd that leave, as the coordinator and the gateway of the host notice it. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ScriptedAgent } from '../../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../../support/clients/api-client.ts';
import { type MortalHost, startMortalHost } from '../../../support/hosts/workerd/host-mortal.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const LOGS = 16;
/** Much less than until the next heartbeat, which a client that has left would not get. */
const AT_ONCE_MS = 10_000;
/** By then the coordinator has nothing under way, and has saved what it needs. */
const RESTS_MS = 15_000;

let host: MortalHost;
const api = new ApiClient(() => host);
beforeAll(async () => {
  host = await startMortalHost({ BERTH_METRICS: 'open' });
});
afterAll(() => host.stop());

const countOf = (event: string) => host.output().split(`"${event}"`).length - 1;
const openLogs = async () =>
  /berth_limit_used\{name="log_streams",setting=""\} (\d+)/.exec(
    await (await fetch(`${host.url()}/metrics`)).text(),
  )?.[1];

test('H47, H299: readers that leave free their places at once, although their service writes nothing', async () => {
  const agent = await ScriptedAgent.join(host);
  const { service } = await agent.runs(await api.submit());
  const readers: IncomingMessage[] = [];
  for (let nth = 0; nth < LOGS; nth++) {
    const response = api.http.open('GET', `service/logs/${service}`);
    await (await agent.log(service, nth)).write('something');
    readers.push(await response);
    await once(readers[nth] as IncomingMessage, 'readable');
  }
  expect(await openLogs()).toBe(String(LOGS));
  for (const { socket } of readers) socket.resetAndDestroy();
  await eventually(async () => (await openLogs()) === '0', AT_ONCE_MS);
  for (let nth = 0; nth < LOGS; nth++) {
    const log = await agent.log(service, nth);
    await eventually(() => log.closed, AT_ONCE_MS);
  }
  const before = countOf('coordinator.woke');
  const untilMs = performance.now() + RESTS_MS;
  await eventually(async () => {
    await agent.pulse();
    return performance.now() > untilMs;
  }, 2 * RESTS_MS);
  // Nothing keeps it awake: what it has saved is what it goes on with.
  await host.killObject('coordinator');
  await api.statistics();
  expect(countOf('coordinator.woke')).toBe(before + 1);
  await agent.close();
});
