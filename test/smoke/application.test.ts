/** One Berth as users run it: an application from submission to the end of its log, each part killed once. */
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { application, script, service } from '../support/fixtures/descriptions.ts';
import { type Berth, startBerth } from '../support/rigs/berth.ts';
import { eventually } from '../support/tools/eventually.ts';

const DEPLOYMENT = 'e2e-smoke';
/** Only what hangs takes as long. */
const HANGS_MS = 120_000;
const COUNTING = 'i=0; while true; do echo $i; i=$((i+1)); sleep 0.02; done';

let berth: Berth;
beforeAll(async () => {
  berth = await startBerth({ deployment: DEPLOYMENT });
});
// Fails if anything is left on the engine.
afterAll(() => berth.close());

const reaches = (id: number, status: string) => berth.api.waitFor(id, status, HANGS_MS);
const nameOf = (service: string, id: number) => `${service}-${id}-${DEPLOYMENT}`;

async function containerIds(id: number): Promise<string[]> {
  return (await berth.containersOf(id)).map(({ Id }) => Id).sort();
}

/** Waits until each container has written more than fifty lines, according to the engine. */
const haveCounted = (containers: readonly string[]) =>
  eventually(async () => {
    const outputs = await Promise.all(
      containers.map((id) => berth.docker.getContainer(id).logs({ stdout: true })),
    );
    return outputs.every((output) => output.toString().split('\n').length > 50);
  }, HANGS_MS);

function expectCounted(log: string): void {
  const lines = log.trimEnd().split('\n');
  expect(lines.length).toBeGreaterThan(50);
  expect(lines).toEqual(lines.map((_, at) => String(at)));
}

test('C7, C9, H38, H41, P106: services start in order and reach each other by DNS name, an endpoint answers at its address only, and the log is followed to its end, which the monitor decides', async () => {
  const { api } = berth;
  const sinceMs = Date.now();
  const ports = [
    { name: 'hello', port_number: 7001, protocol: 'tcp' as const, url_template: 'tcp://{ip_port}' },
  ];
  // Start orders only order the starts, so the client waits until the store listens.
  const client =
    'until nc {dns_name#store0} 7000; do sleep 0.1; done; nc -l -p 7001 -e echo hello; echo last';
  const id = await api.submit(
    application(
      script(client, { startup_order: 1, ports }),
      script('nc -ll -p 7000 -e echo greetings', { name: 'store', monitor: false, startup_order: 0 }),
    ),
  );
  await reaches(id, 'running');
  const [main = 0] = (await api.execution(id)).services;
  const followed = text(await api.openLog(main));
  expect((await api.discovery(id, 'main')).dns_names).toEqual([nameOf('main0', id)]);
  const endpoints = await api.endpoints(id);
  expect(endpoints).toEqual([['hello', expect.stringMatching(/^tcp:\/\/127\.0\.0\.2:\d+$/)]]);
  const port = Number(endpoints[0]?.[1].split(':').at(-1));
  await expect(text(connect(port, '127.0.0.1'))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  await eventually(async () => (await text(connect(port, '127.0.0.2'))) === 'hello\n', HANGS_MS);
  expect(await followed).toBe('greetings\nlast\n');
  const { error_message, time_start, time_end } = await reaches(id, 'terminated');
  expect(error_message).toBeNull();
  expect(time_end).toBeGreaterThanOrEqual(Number(time_start));
  expect(await berth.startsOf(id, sinceMs)).toEqual([nameOf('store0', id), nameOf('main0', id)]);
  expect((await api.discovery(id, 'main')).dns_names).toEqual([]);
  expect(await api.endpoints(id)).toEqual([]);
  expect(await containerIds(id)).toEqual([]);
});

test('C41, H60: a control plane that is killed loses nothing that it has acknowledged, starts nothing twice, and the log has no gap', async () => {
  const sinceMs = Date.now();
  const tooLarge = { memory: { min: null, max: null }, cores: { min: 10_000, max: null } };
  const waiting = await berth.api.submit(application(service({ resources: tooLarge })));
  const counting = await berth.api.submit(application(script(COUNTING)));
  await reaches(counting, 'running');
  const before = await containerIds(counting);
  const submitted = await berth.api.submit(application(script('echo output; exec sleep 1000')));
  await berth.program.kill();
  await berth.start();
  await reaches(submitted, 'running');
  await reaches(counting, 'running');
  expect(await containerIds(counting)).toEqual(before);
  await haveCounted(before);
  for (const id of [counting, submitted])
    expect(await berth.startsOf(id, sinceMs)).toEqual([nameOf('main0', id)]);
  expect((await berth.api.execution(waiting)).status).toBe('queued');
  for (const id of [waiting, counting, submitted]) await berth.api.terminate(id);
  for (const id of [waiting, counting, submitted]) await reaches(id, 'terminated');
  expectCounted(await berth.api.logText(counting));
  expect(await berth.api.logText(submitted)).toBe('output\n');
});

test('P5, H45: an agent that is killed is started again, stops and duplicates nothing, and the log has no gap', async () => {
  const { api } = berth;
  const sinceMs = Date.now();
  const id = await api.submit(application(script(COUNTING, { total_count: 2, essential_count: 2 })));
  await reaches(id, 'running');
  const [first = 0, second = 0] = (await api.execution(id)).services;
  // One subscriber is connected before the kill and stays, the other begins after it.
  const early = text(await api.openLog(first));
  const before = await containerIds(id);
  const pid = await berth.agentPid();
  process.kill(pid, 'SIGKILL');
  await eventually(async () => (await berth.agentPid()) !== pid, HANGS_MS);
  // Refused until the agent is connected (H46).
  const late = text(await eventually(() => api.openLog(second), HANGS_MS));
  expect(await containerIds(id)).toEqual(before);
  expect((await api.execution(id)).status).toBe('running');
  await haveCounted(before);
  expect((await berth.startsOf(id, sinceMs)).toSorted()).toEqual([nameOf('main0', id), nameOf('main1', id)]);
  await api.terminate(id);
  await reaches(id, 'terminated');
  expectCounted(await early);
  expectCounted(await late);
});

test('C11, H45: a service other than a monitor whose container is killed and removed by hand is started again, and its log goes on', async () => {
  const { api, docker } = berth;
  const worker = script('echo life; exec sleep 1000', { name: 'worker', monitor: false });
  const id = await api.submit(application(service({ command: 'sleep 1000' }), worker));
  await reaches(id, 'running');
  const [, serviceId = 0] = (await api.execution(id)).services;
  const log = text(await api.openLog(serviceId));
  /** The running container of a generation, once it has written its line. */
  const ofGeneration = (generation: string) =>
    eventually(async () => {
      const all = await berth.containersOf(id);
      const found = all.find(
        ({ Names, Labels }) => Names[0]?.startsWith('/worker0') && Labels['berth.generation'] === generation,
      );
      const container = docker.getContainer(String(found?.Id));
      return (await container.logs({ stdout: true })).includes('life') && container;
    }, HANGS_MS);
  const killed = await ofGeneration('1');
  if (killed) await killed.remove({ force: true });
  await ofGeneration('2');
  expect((await api.execution(id)).status).toBe('running');
  await api.terminate(id);
  await reaches(id, 'terminated');
  expect(await log).toBe('life\nlife\n');
});
