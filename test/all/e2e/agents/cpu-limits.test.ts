/** The cores of a host, divided among its services. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RestClient } from '../../../support/clients/rest-client.ts';
import { application, service } from '../../../support/fixtures/descriptions.ts';
import type { Program } from '../../../support/hosts/process.ts';
import { type Berth, startBerth } from '../../../support/rigs/berth.ts';
import { eventually } from '../../../support/tools/eventually.ts';

let berth: Berth;
let agent: Program;
/** The cores that the host offers, whatever machine this is. */
let offered: number;

beforeAll(async () => {
  berth = await startBerth({ deployment: 'e2e-cores', env: { BERTH_LOCAL_AGENT: 'off' } });
  const { NCPU } = await berth.docker.info();
  offered = NCPU - 0.5;
  agent = startAgent();
  await agent.waitFor(/session\.synced/);
});

afterAll(() => berth.close(agent));

const startAgent = (): Program => berth.startAgent({ BERTH_AGENT_RESERVE: 'cores=0.5' });

/** Runs one service that requests these cores. */
async function run(min: number | null, max: number | null, api = berth.api): Promise<number> {
  const resources = { memory: { min: null, max: null }, cores: { min, max } };
  const id = await api.submit(application(service({ command: 'sleep 1000', resources })));
  await berth.api.waitFor(id, 'running');
  return id;
}

async function end(id: number): Promise<void> {
  await berth.api.terminate(id);
  await berth.api.waitFor(id, 'terminated');
}

/** The CPU limit of the execution's container in the engine, in cores. */
async function limitOf(id: number): Promise<number> {
  const [container] = await berth.containersOf(id);
  const { HostConfig } = await berth.docker.getContainer(String(container?.Id)).inspect();
  return (HostConfig.NanoCpus ?? 0) / 1e9;
}

const reaches = (id: number, cores: number): Promise<true> =>
  eventually(async () => {
    expect(await limitOf(id)).toBeCloseTo(cores, 5);
    return true as const;
  }, 30_000);

test('C80, C81: shares shrink as services come and grow as they go, up to their max', async () => {
  const first = await run(0.2, null);
  expect(await limitOf(first)).toBeCloseTo(offered, 5);
  const second = await run(null, null);
  const part = (offered - 0.3) / 2;
  expect(await limitOf(second)).toBeCloseTo(0.1 + part, 5);
  await reaches(first, 0.2 + part);
  const third = await run(0.1, 0.2);
  expect(await limitOf(third)).toBeCloseTo(0.2, 5);
  await reaches(first, 0.2 + (offered - 0.5) / 2);
  await end(second);
  await reaches(first, offered - 0.2);
  expect(await limitOf(third)).toBeCloseTo(0.2, 5);
  await end(first);
  await end(third);
});

test('P15: shares follow containers that ended while no agent ran, even while the control plane is away', async () => {
  const first = await run(0.2, null);
  const second = await run(0.2, null);
  await reaches(first, offered / 2);
  await agent.kill();
  await berth.killAll();
  const [container] = await berth.containersOf(second);
  await berth.docker.getContainer(String(container?.Id)).kill();
  agent = startAgent();
  await reaches(first, offered);
  await berth.start();
  await berth.api.waitFor(second, 'error');
  await end(first);
});

test('C212: the containers of a user get no more cores than the quota while another user has containers there', async () => {
  const post = async (path: string, fields: Record<string, unknown>) => {
    const response = await berth.api.request(path, { method: 'POST', body: JSON.stringify(fields) });
    const text = await response.text();
    expect(response.status, text).toBe(200);
    return text || '{}';
  };
  const caps = { concurrent_executions: 0, memory: 0, cores: 1 };
  const { quota_id } = JSON.parse(await post('quota', { name: 'one core', ...caps }));
  const password = 'secret words';
  const { user_id } = JSON.parse(await post('user', { username: 'capped', role_id: 3, quota_id }));
  await post(`user/${user_id}`, { password });
  const capped = new RestClient(berth.url, 'capped', password);
  const mine = [await run(0.1, null, capped), await run(0.1, null, capped), await run(0.1, null, capped)];
  const alone = Math.floor((100 * offered) / 3) / 100;
  for (const id of mine) await reaches(id, alone);
  const other = await run(0.1, null);
  for (const id of mine) await reaches(id, 0.33);
  await reaches(other, offered - 1);
  await end(other);
  for (const id of mine) await reaches(id, alone);
  for (const id of mine) await end(id);
});
