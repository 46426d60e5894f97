/** Faults of a cluster with several hosts: a network that is cut, and an engine that is killed. */
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../../support/cluster/cluster.ts';
import { application, script } from '../../support/fixtures/descriptions.ts';
import { eventually } from '../../support/tools/eventually.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({
    deployment: 'e2e-faults',
    hosts: [
      { name: 'one', labels: ['one'] },
      { name: 'two', labels: ['two'] },
    ],
    // Long enough for an agent on a busy machine to report.
    env: { BERTH_LIMITS: JSON.stringify({ hostLostAfterS: 8 }) },
  });
  await cluster.api.removeQuotaLimits();
});

afterAll(() => cluster?.close());

const COUNTING = 'i=0; while true; do echo $i; i=$((i+1)); sleep 0.05; done';
const IDLE = 'exec sleep 1000';
const onHost = (label: string) => ({ labels: [label] });

/** Waits until the only service of the execution shows this `backend_status`. */
const seen = (execution: number, status: string): Promise<unknown> =>
  eventually(async () => {
    const [service] = await cluster.api.services(execution);
    return expect(service?.backend_status).toBe(status);
  }, 60_000);

/** Besides what states that the host was lost for a while (H827). */
const isCount = (text: string, atLeast: number): void => {
  const lines = text
    .trimEnd()
    .split('\n')
    .filter((line) => !/^\[berth\] Host \w+ is lost\./.test(line));
  expect(lines).toEqual(lines.map((_, at) => String(at)));
  expect(lines.length).toBeGreaterThan(atLeast);
};

test('C17, C18, H45: a host continues after its network is cut and healed, with nothing started twice and no gap in the log', async () => {
  const { api } = cluster;
  const sinceMs = Date.now();
  const run = (text: string) => api.run(application(script(text, onHost('two'))));
  const [counting, ended, ending] = await Promise.all([
    run(COUNTING),
    run(IDLE),
    run('until test -e /tmp/end; do sleep 0.1; done; echo done; exit 3'),
  ]);
  const [early] = (await api.execution(counting)).services;
  const log = text(await api.openLog(Number(early)));
  log.catch(() => {});
  const two = cluster.host('two');
  const before = await cluster.containersOf(counting);

  await two.cut();
  await two.exec((await cluster.containersOf(ending)).main0?.id, 'touch', '/tmp/end');
  await seen(counting, 'undefined');
  const waiting = await api.submit(application(script(IDLE, onHost('two'))));
  const elsewhere = await api.run(application(script(IDLE)));
  expect((await cluster.containersOf(elsewhere)).main0?.host).not.toBe('two');
  expect((await api.execution(waiting)).status).toBe('queued');
  expect(await api.explain(counting)).toMatchObject({
    waiting_for: [expect.stringContaining('host two')],
  });
  await api.terminate(ended);
  const statuses = await Promise.all(
    [counting, ended, ending].map(async (id) => (await api.execution(id)).status),
  );
  expect(statuses).toEqual(['running', 'cleaning up', 'running']);
  expect(await cluster.containersOf(counting)).toEqual(before);

  await two.heal();
  await seen(counting, 'started');
  await Promise.all([api.waitFor(ended, 'terminated'), api.waitFor(waiting, 'running')]);
  expect((await api.waitFor(ending, 'error')).error_message).toBe('service main0 ended with exit code 3');
  expect(await api.logText(ending)).toBe('done\n');
  expect(await cluster.containersOf(counting)).toEqual(before);
  await cluster.api.end(counting, waiting, elsewhere);
  expect(await cluster.startsOf(counting, sinceMs)).toEqual([`main0-${counting}-e2e-faults`]);
  isCount(await log, 100);
  isCount(await api.logText(counting), 100);
});

test('C113, C114: the containers of a killed engine end when the engine is started again, and services that may restart do', async () => {
  const { api } = cluster;
  const [monitor, worker] = await Promise.all([
    api.run(application(script(COUNTING, onHost('two')))),
    api.run(
      application(
        script(IDLE, onHost('one')),
        script(COUNTING, { name: 'worker', monitor: false, ...onHost('two') }),
      ),
    ),
  ]);
  const two = cluster.host('two');
  await two.engine.kill();
  await two.agent.waitFor(/engine\.lost/);
  const [service] = await api.services(monitor);
  expect(service).toMatchObject({ status: 'active', backend_status: 'started' });
  const more = application(script(IDLE, onHost('two')));
  await eventually(async () => {
    const { waiting_for } = await api.explainSubmission(more);
    return String(waiting_for).includes('1 without a responding engine');
  });
  const waiting = await api.submit(more);
  expect((await api.execution(waiting)).status).toBe('queued');

  await two.engine.start();
  const { error_message } = await api.waitFor(monitor, 'error', 60_000);
  expect(error_message).toMatch(/^service main0 ended with exit code 1(43|37) /);
  isCount(await api.logText(monitor), 0);
  await eventually(async () => {
    const { worker0 } = await cluster.containersOf(worker);
    return expect(worker0).toMatchObject({ host: 'two', state: 'running', generation: '2' });
  }, 60_000);
  const { main0 } = await cluster.containersOf(worker);
  expect(main0).toMatchObject({ host: 'one', state: 'running', generation: '1' });
  const name = `worker0-${worker}-e2e-faults`;
  // Other hosts resolve the name a moment later. Nothing listens there, but the refusal comes from there.
  await eventually(
    () =>
      cluster
        .host('one')
        .exec(main0?.id, 'sh', '-c', `nc -w 5 ${name} 9 2>&1 | grep refused`)
        .then(() => true),
    60_000,
  );
  await api.waitFor(waiting, 'running');
  await cluster.api.end(worker, waiting);
});
