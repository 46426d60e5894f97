/**
 * The state that a host reports, from a real agent to the API: low disk space, and the real usage of its
 * containers.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { HostDetailJson } from '../../../support/clients/host-client.ts';
import { application, script } from '../../../support/fixtures/descriptions.ts';
import type { Program } from '../../../support/hosts/process.ts';
import { type Berth, startBerth } from '../../../support/rigs/berth.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const MIB = 2 ** 20;

let berth: Berth;
let agent: Program;

beforeAll(async () => {
  // With this setting an agent reports every second.
  const env = { BERTH_LOCAL_AGENT: 'off', BERTH_HOST_LOST_AFTER: '9' };
  berth = await startBerth({ deployment: 'e2e-host-state', env });
});
afterAll(() => berth.close(agent));

/** The only host. Undefined before its agent has joined. */
async function host(): Promise<HostDetailJson | undefined> {
  const response = await berth.api.request('host/1');
  return response.ok ? ((await response.json()) as { host: HostDetailJson }).host : undefined;
}

test('P42, C83, C84: a host with less disk space than its minimum takes no services, and waiting executions show the reason until there is enough', async () => {
  agent = berth.startAgent({ BERTH_AGENT_MIN_DISK: '1000000GiB' });
  await eventually(async () => (await host())?.state === 'paused');
  const found = await host();
  expect(found).toMatchObject({ connected: true, schedulable: true, containers: 0 });
  expect(found?.conditions).toEqual([
    { kind: 'low-disk', text: expect.stringMatching(/^\d+\.\d GiB free at \//) },
  ]);
  const id = await berth.api.submit(application(script('true')));
  const explanation = await berth.api.explain(id);
  expect(explanation).toMatchObject({ status: 'queued', reasons: [{ filter: 'schedulable', of_hosts: 1 }] });
  expect(JSON.stringify(explanation.reasons)).toContain(found?.conditions[0]?.text);
  await agent.stop();
  agent = berth.startAgent();
  expect(await berth.api.waitFor(id, 'terminated')).toMatchObject({ error_message: null });
  expect(await host()).toMatchObject({ state: 'ready', conditions: [] });
});

test('P50, C86: the host shows the memory and cores that a container really uses, and none after its end', async () => {
  // 64 MiB in a shell variable, and up to one core.
  const busy = 'x=$(head -c 67108864 /dev/zero | tr "\\0" x); echo full; while :; do :; done';
  const id = await berth.api.submit(application(script(busy)));
  await berth.api.waitFor(id, 'running');
  await eventually(async () => {
    const found = await host();
    return (found?.memory_used ?? 0) > 64 * MIB && (found?.cores_used ?? 0) > 0.1;
  }, 60_000);
  const found = await host();
  expect(found?.memory_used).toBeLessThan(found?.memory_total ?? 0);
  expect(found?.cores_used).toBeLessThanOrEqual((found?.cores_total ?? 0) * 1.1);
  await berth.api.terminate(id);
  await berth.api.waitFor(id, 'terminated');
  await eventually(async () => {
    const now = await host();
    return now?.memory_used === 0 && now.cores_used === 0;
  });
});
