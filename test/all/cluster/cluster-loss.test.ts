/**
 * A host that is cut off with `BERTH_HOST_LOSS=requeue`: its services are started elsewhere and never run
 * twice.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../../support/cluster/cluster.ts';
import { application, script } from '../../support/fixtures/descriptions.ts';
import { eventually } from '../../support/tools/eventually.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({
    deployment: 'e2e-loss',
    hosts: [
      { name: 'one', labels: ['spare'] },
      { name: 'two', labels: ['spare', 'first'] },
    ],
    env: { BERTH_HOST_LOSS: 'requeue', BERTH_LIMITS: JSON.stringify({ hostLostAfterS: 6 }) },
  });
});

afterAll(() => cluster?.close());

/** Running containers of a host, according to its own engine. */
const runningOn = async (name: string): Promise<string[]> => {
  const filters = { label: ['berth.deployment=e2e-loss'] };
  const found = await cluster.host(name).docker.listContainers({ filters });
  return found.map(({ Names }) => String(Names[0]));
};

test('C103, P33: a host that is cut off ends its services before another host runs them, and its return starts nothing twice', {
  timeout: 180_000,
}, async () => {
  const { api } = cluster;
  await cluster.restartAgent('one', { BERTH_AGENT_LABELS: '' });
  const id = await api.run(application(script('exec sleep 1000', { labels: ['spare'] })));
  expect((await cluster.containersOf(id)).main0).toMatchObject({ host: 'two', generation: '1' });
  await cluster.restartAgent('one');

  await cluster.host('two').cut();
  let maxRunning = 0;
  await eventually(async () => {
    // The host that must end its container first is queried last.
    const one = await runningOn('one');
    const two = await runningOn('two');
    maxRunning = Math.max(maxRunning, one.length + two.length);
    return one.length === 1;
  }, 120_000);
  expect(maxRunning).toBe(1);
  await api.waitFor(id, 'running');
  expect((await cluster.containersOf(id)).main0).toMatchObject({ host: 'one', generation: '2' });

  const { agent } = cluster.host('two');
  const synced = agent.output.split('session.synced').length;
  await cluster.host('two').heal();
  await eventually(() => agent.output.split('session.synced').length > synced, 60_000);
  expect(await runningOn('two')).toEqual([]);
  expect(await runningOn('one')).toHaveLength(1);
  expect((await api.execution(id)).status).toBe('running');
  await cluster.api.end(id);
});
