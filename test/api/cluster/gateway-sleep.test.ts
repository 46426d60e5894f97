import { afterAll, beforeAll, expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { startWorkerdHost } from '../../support/hosts/host-workerd.ts';
import { ADMIN_PASSWORD, type Host } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

/** The runtime lets an object sleep that has had no work for 10 s. */
const ASLEEP_MS = 13_000;

let host: Host;
beforeAll(async () => {
  host = await startWorkerdHost({
    variant: 'B',
    deployment: 'sleep',
    adminPassword: ADMIN_PASSWORD,
    // Each host has a gateway of its own.
    env: { BERTH_HOSTS_PER_GATEWAY: '1' },
  });
});
afterAll(() => host.stop());

/** Lets time pass while another host reports, so that only the gateway of the first one sleeps. */
async function untilAsleep(busy: ScriptedAgent): Promise<void> {
  const untilMs = performance.now() + ASLEEP_MS;
  await eventually(async () => {
    await busy.report();
    return performance.now() > untilMs;
  }, 2 * ASLEEP_MS);
}

test('P176: a gateway that has slept goes on with its agents without a hello, and answers pings without waking', async () => {
  const api = new ApiClient(() => host);
  const sleeper = await ScriptedAgent.join(host, { facts: { name: 'sleeper', labels: ['quiet'] } });
  const busy = await ScriptedAgent.join(host, { facts: { name: 'busy' } });
  await untilAsleep(busy);
  await sleeper.ping();
  expect(host.output()).not.toContain('gateway.woke');
  await sleeper.report();
  expect(host.output()).toContain('gateway.woke');
  await untilAsleep(busy);
  const execution = await api.submit(application(service({ labels: ['quiet'] })));
  const [assignment] = await sleeper.assigned(execution);
  if (!assignment) throw new Error('the start did not arrive');
  await sleeper.report(seen.running(assignment));
  expect((await api.execution(execution)).status).toBe('running');
  expect([sleeper.closeCode, sleeper.all('welcome').length]).toEqual([undefined, 1]);
}, 60_000);

test('C230: the coordinator does not sleep while an agent is connected, which goes on without a hello', async () => {
  const agent = await ScriptedAgent.join(host, { facts: { name: 'alone' } });
  const untilMs = performance.now() + ASLEEP_MS;
  await eventually(async () => {
    await agent.ping();
    return performance.now() > untilMs;
  }, 2 * ASLEEP_MS);
  await agent.report();
  expect([agent.closeCode, agent.all('welcome').length]).toEqual([undefined, 1]);
}, 60_000);
