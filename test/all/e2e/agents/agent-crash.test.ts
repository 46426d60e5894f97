/** An agent that is killed while its containers run, and changes to its containers meanwhile. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { application, script, service } from '../../../support/fixtures/descriptions.ts';
import type { Program } from '../../../support/hosts/process.ts';
import { type Berth, startBerth } from '../../../support/rigs/berth.ts';
import { eventually } from '../../../support/tools/eventually.ts';

let berth: Berth;
let agent: Program;

beforeAll(async () => {
  berth = await startBerth({ deployment: 'e2e-agent-crash', env: { BERTH_LOCAL_AGENT: 'off' } });
  agent = berth.startAgent();
  await synced();
});

afterAll(() => berth.close(agent));

const synced = () => agent.waitFor(/session\.synced/);

async function restartAgent(): Promise<void> {
  agent = berth.startAgent();
  await synced();
}

const ids = async (execution: number): Promise<string[]> =>
  (await berth.containersOf(execution)).map(({ Id }) => Id);

test('P5: an agent killed at any moment of a start starts the container once', {
  timeout: 60_000,
}, async () => {
  const { api } = berth;
  for (const delayMs of [0, 40, 80, 130, 200]) {
    const sinceMs = Date.now();
    const id = await api.submit(
      application(script('echo life; exec sleep 1000', { total_count: 2, essential_count: 2 })),
    );
    // The test varies this moment.
    await new Promise((done) => setTimeout(done, delayMs));
    await agent.kill();
    await restartAgent();
    await api.waitFor(id, 'running');
    expect((await berth.startsOf(id, sinceMs)).toSorted(), `killed after ${delayMs} ms`).toEqual(
      ['main0', 'main1'].map((name) => `${name}-${id}-e2e-agent-crash`),
    );
    expect(await ids(id)).toHaveLength(2);
    await api.terminate(id);
    await api.waitFor(id, 'terminated');
    expect(await api.logText(id)).toBe('life\n');
  }
});

test('C18: an exit while the agent is away is reported after its return, with the complete output', async () => {
  const { api, docker } = berth;
  const id = await api.submit(application(script('echo first; sleep 0.5; echo last; exit 9')));
  await api.waitFor(id, 'running');
  await agent.kill();
  const [container = ''] = await ids(id);
  await docker.getContainer(container).wait();
  expect((await api.execution(id)).status).toBe('running');
  await restartAgent();
  const { error_message } = await api.waitFor(id, 'error');
  expect(error_message).toBe('service main0 ended with exit code 9');
  expect(await api.logText(id)).toBe('first\nlast\n');
  expect(await ids(id)).toEqual([]);
});

test('C14: an execution that is terminated while the agent is away ends after its return', async () => {
  const { api } = berth;
  const id = await api.submit(application(service({ command: 'sleep 1000' })));
  await api.waitFor(id, 'running');
  await agent.kill();
  await api.terminate(id);
  expect((await api.execution(id)).status).toBe('cleaning up');
  await restartAgent();
  await api.waitFor(id, 'terminated');
  expect(await ids(id)).toEqual([]);
});

test('H46: the log of a service is unavailable while its host is away, and available again with its agent', async () => {
  const { api } = berth;
  const id = await api.submit(application(script('echo kept')));
  await api.waitFor(id, 'terminated');
  const [service] = (await api.execution(id)).services;
  await agent.kill();
  const refused = await eventually(async () => {
    const response = await api.request(`service/logs/${service}`);
    expect(response.status).toBe(503);
    return response;
  });
  expect(((await refused.json()) as { message: string }).message).toMatch(/not connected/);
  await restartAgent();
  expect(await api.logText(id)).toBe('kept\n');
});

test('C10: a monitor whose container is removed by hand ends the execution as error', async () => {
  const { api, docker } = berth;
  const id = await api.submit(application(script('echo life; exec sleep 1000')));
  await api.waitFor(id, 'running');
  const [container = ''] = await ids(id);
  await eventually(async () => (await docker.getContainer(container).logs({ stdout: true })).length > 0);
  await docker.getContainer(container).remove({ force: true });
  const { error_message } = await api.waitFor(id, 'error');
  expect(error_message).toMatch(/main0/);
  expect(await api.logText(id)).toBe('life\n');
});

test('P6: an unassigned container of this deployment is removed, and a container of another deployment is not', async () => {
  const { api, docker } = berth;
  const ended = await api.submit(application(script('echo over')));
  await api.waitFor(ended, 'terminated');
  const [service] = (await api.execution(ended)).services;
  const labels = {
    'berth.host': (await docker.info()).Name,
    'berth.execution': String(ended),
    'berth.service': String(service),
    'berth.generation': '1',
  };
  const make = (deployment: string) =>
    docker.createContainer({
      Image: 'berth/busybox:1',
      Cmd: ['sleep', '1000'],
      HostConfig: { Init: true },
      Labels: { ...labels, 'berth.deployment': deployment },
    });
  const stray = await make('e2e-agent-crash');
  const foreign = await make('e2e-agent-crash-other');
  try {
    await Promise.all([stray.start(), foreign.start()]);
    await agent.kill();
    await restartAgent();
    await eventually(async () => (await ids(ended)).length === 0);
    expect((await foreign.inspect()).State.Running).toBe(true);
  } finally {
    await foreign.remove({ force: true });
  }
});
