/** A control plane that ends, by kill -9 or by SIGTERM, and is started again with its data. */
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { application, script, service } from '../../../support/fixtures/descriptions.ts';
import { type Berth, PASSWORD, startBerth } from '../../../support/rigs/berth.ts';
import { seededRandom } from '../../../support/tools/random.ts';

let berth: Berth;

beforeAll(async () => {
  const env = { BERTH_SECRET_KEYS: Buffer.alloc(32, 5).toString('base64') };
  berth = await startBerth({ deployment: 'e2e-restart', env });
  await berth.api.removeQuotaLimits();
});

afterAll(() => berth.close());

const idle = () => application(script('echo output; exec sleep 1000'));
const tooLarge = () =>
  application(
    service({ resources: { memory: { min: null, max: null }, cores: { min: 10_000, max: null } } }),
  );

async function killAndRestart(): Promise<void> {
  await berth.program.kill();
  await berth.start();
}

test('C41, H60: a control plane that is killed at any moment between submission and running loses nothing and starts nothing twice', {
  timeout: 180_000,
}, async () => {
  const random = seededRandom(20_261_121);
  const waiting = await berth.api.submit(tooLarge());
  const running: number[] = [];
  const sinceMs = Date.now();
  for (let round = 0; round < 6; round++) {
    const id = await berth.api.submit(idle());
    running.push(id);
    const delayMs = Math.round(random() * 400);
    // The test varies this moment.
    await pause(delayMs);
    await killAndRestart();
    const { status } = await berth.api.waitFor(id, 'running');
    expect(status, `killed after ${delayMs} ms`).toBe('running');
  }
  for (const id of running) {
    expect((await berth.api.execution(id)).status).toBe('running');
    expect(await berth.startsOf(id, sinceMs)).toEqual([`main0-${id}-e2e-restart`]);
    expect(await berth.containersOf(id)).toHaveLength(1);
  }
  expect((await berth.api.execution(waiting)).status).toBe('queued');
  const all = Object.values(await berth.api.executions()).map(({ id }) => id);
  expect(all).toEqual([waiting, ...running]);
  await Promise.all([waiting, ...running].map((id) => berth.api.terminate(id)));
  for (const id of running) {
    await berth.api.waitFor(id, 'terminated');
    expect(await berth.api.logText(id)).toBe('output\n');
  }
});

test('C18: a control plane that is killed while a container ends receives the end after its restart', async () => {
  const id = await berth.api.submit(application(script('echo first; sleep 1; echo last; exit 4')));
  await berth.api.waitFor(id, 'running');
  await berth.program.kill();
  const [container] = await berth.containersOf(id);
  if (container) await berth.docker.getContainer(container.Id).wait();
  await berth.start();
  expect((await berth.api.waitFor(id, 'error')).error_message).toBe('service main0 ended with exit code 4');
  expect(await berth.api.logText(id)).toBe('first\nlast\n');
});

test('C41: a control plane that is killed during the cleanup of an execution finishes the cleanup after its restart', async () => {
  const id = await berth.api.submit(application(script('trap "" TERM; while true; do sleep 1; done')));
  await berth.api.waitFor(id, 'running');
  await berth.api.terminate(id);
  await killAndRestart();
  expect(['cleaning up', 'terminated']).toContain((await berth.api.execution(id)).status);
  await berth.api.waitFor(id, 'terminated');
  expect(await berth.containersOf(id)).toEqual([]);
});

test('H272: the environment of the local agent has no credentials of the control plane', async () => {
  const environmentOf = async (pid: number) => (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0');
  expect(await environmentOf(berth.program.pid)).toContain(`BERTH_ADMIN_PASSWORD=${PASSWORD}`);
  const agents = await environmentOf(await berth.agentPid());
  expect(agents).toContain('BERTH_DEPLOYMENT_NAME=e2e-restart');
  expect(
    agents.filter((line) =>
      /^BERTH_(ADMIN|DATABASE|METRICS_TOKEN|OIDC_CLIENT_SECRET|SECRET_KEYS)/.test(line),
    ),
  ).toEqual([]);
});

test('H270: SIGTERM ends the control plane and its agent although a client follows a log, and leaves containers running', async () => {
  const id = await berth.api.submit(idle());
  await berth.api.waitFor(id, 'running');
  const [before] = await berth.containersOf(id);
  const [serviceId = 0] = (await berth.api.execution(id)).services;
  // A connected subscriber must not delay the end.
  const reader = (await berth.api.openLog(serviceId)).text().catch(() => 'cut');
  const agentPid = await berth.agentPid();
  expect(await berth.program.stop()).toBe(0);
  expect(() => process.kill(agentPid, 0)).toThrow('ESRCH');
  await reader;
  const [after] = await berth.containersOf(id);
  expect(after).toMatchObject({ Id: before?.Id, State: 'running' });
  await berth.start();
  await berth.api.waitFor(id, 'running');
  expect(await berth.containersOf(id)).toMatchObject([{ Id: before?.Id, State: 'running' }]);
  await berth.api.terminate(id);
  await berth.api.waitFor(id, 'terminated');
  expect(await berth.api.logText(id)).toBe('output\n');
});
