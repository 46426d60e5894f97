/** Ends that a user requests: during the start, while running, by deletion. */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { application, script, service } from '../../../support/fixtures/descriptions.ts';
import { type Registry, startRegistry } from '../../../support/registries/empty-registry.ts';
import { type Berth, startBerth } from '../../../support/rigs/berth.ts';
import { eventually } from '../../../support/tools/eventually.ts';

let berth: Berth;
let registry: Registry;

beforeAll(async () => {
  registry = await startRegistry('stalls');
  const env = { BERTH_AGENT_REGISTRIES: registry.host };
  berth = await startBerth({ deployment: 'e2e-terminate', env });
});

afterAll(async () => {
  registry.close();
  await berth.close();
});

test.concurrent('C14: an execution that waits for an image is terminated at once', async () => {
  const { api } = berth;
  const first = service({ command: 'sleep 1000', startup_order: 0 });
  const pulling = service({ name: 'second', image: registry.image, startup_order: 1 });
  const id = await api.submit(application(first, pulling));
  await eventually(() => registry.requestCount() > 0, 60_000);
  expect((await api.execution(id)).status).toBe('starting');
  await api.terminate(id);
  await api.waitFor(id, 'terminated');
  expect(await berth.containersOf(id)).toEqual([]);
});

test.concurrent('C14: an execution that is terminated right after its submission ends, whatever its state', async () => {
  const { api } = berth;
  const ids = await Promise.all(
    Array.from({ length: 4 }, () => api.submit(application(service({ command: 'sleep 1000' })))),
  );
  await Promise.all(ids.map((id) => api.terminate(id)));
  for (const id of ids) {
    expect((await api.waitFor(id, 'terminated')).error_message).toBeNull();
    expect(await berth.containersOf(id)).toEqual([]);
  }
});

test.concurrent('C14: a running process receives SIGTERM and can write output before it ends', async () => {
  const { api } = berth;
  const text = 'trap "echo goodbye; exit 0" TERM; echo ready; while true; do sleep 0.1; done';
  const id = await api.submit(application(script(text)));
  const [service = 0] = (await api.execution(id)).services;
  const log = (await api.openLog(service)).text();
  await api.waitFor(id, 'running');
  await eventually(async () => {
    const [container] = await berth.containersOf(id);
    const { Processes } = await berth.docker.getContainer(String(container?.Id)).top();
    return Processes.some((process: string[]) => process.includes('sleep 0.1'));
  });
  await api.terminate(id);
  expect(await log).toBe('ready\ngoodbye\n');
  const { error_message, time_end } = await api.waitFor(id, 'terminated');
  expect(error_message).toBeNull();
  expect(time_end).not.toBeNull();
});

test.concurrent('C14: a process that ignores SIGTERM is killed after 10 s', async () => {
  const { api } = berth;
  const id = await api.submit(application(script('trap "" TERM; while true; do sleep 1; done')));
  await api.waitFor(id, 'running');
  const sinceS = Date.now() / 1_000;
  await api.terminate(id);
  expect((await api.execution(id)).status).toBe('cleaning up');
  const { time_end } = await api.waitFor(id, 'terminated');
  // Compared with the control plane's time, since a busy engine takes seconds to remove a container.
  expect(Number(time_end) - sinceS).toBeGreaterThan(9.5);
  expect(await berth.containersOf(id)).toEqual([]);
});

test.concurrent('H37: a running execution that is deleted is hidden at once, and its containers and logs are removed soon', async () => {
  const { api } = berth;
  const id = await api.submit(application(script('echo secret; exec sleep 1000')));
  await api.waitFor(id, 'running');
  const [service] = (await api.execution(id)).services;
  const logs = `${berth.dataDir}/agent/e2e-terminate/logs/${service}`;
  expect(existsSync(logs)).toBe(true);
  await api.remove(id);
  for (const path of [`execution/${id}`, `service/${service}`, `service/logs/${service}`]) {
    expect((await api.request(path)).status, path).toBe(404);
  }
  expect(Object.keys(await api.executions())).not.toContain(String(id));
  await eventually(async () => (await berth.containersOf(id)).length === 0 && !existsSync(logs));
});

test.concurrent('P14: the logs of an ended execution are removed with it', async () => {
  const { api } = berth;
  const id = await api.submit(application(script('echo secret')));
  await api.waitFor(id, 'terminated');
  const [service] = (await api.execution(id)).services;
  const logs = `${berth.dataDir}/agent/e2e-terminate/logs/${service}`;
  expect(existsSync(logs)).toBe(true);
  await api.remove(id);
  expect((await api.request(`execution/${id}`)).status).toBe(404);
  await eventually(() => !existsSync(logs));
});
