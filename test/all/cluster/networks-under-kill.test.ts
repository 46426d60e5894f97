/** Networks of executions while the engine and the agent of a host are killed. */
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest';
import { type Cluster, startCluster } from '../../support/cluster/cluster.ts';
import { application, script } from '../../support/fixtures/descriptions.ts';
import { eventually } from '../../support/tools/eventually.ts';

const OWN_NETWORKS = { BERTH_AGENT_NETWORK: '' };
/** An agent gives up a call that a killed engine never answers after two minutes, and then tries again. */
const LIMIT_MS = 240_000;

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({
    deployment: 'e2e-killed',
    hosts: [{ name: 'one' }],
    env: { BERTH_NETWORK_ISOLATION: 'execution' },
  });
  await cluster.restartAgent('one', OWN_NETWORKS);
});

afterAll(() => cluster?.close());

test('P94, P95: kill -9 of the engine and of the agent while networks are made and removed leaves none of them behind', {
  timeout: 2 * LIMIT_MS,
}, async () => {
  const { api } = cluster;
  const host = cluster.host('one');
  onTestFailed(() => console.error(host.agent.output.slice(-5_000)));
  const label = [`berth.deployment=${cluster.deployment}`];
  const networks = () => host.docker.listNetworks({ filters: { label } });
  const submit = (count: number) =>
    Promise.all(Array.from({ length: count }, () => api.submit(application(script('exec sleep 1000')))));
  const killEngine = async () => {
    await host.engine.kill();
    await host.engine.start();
  };

  const first = await submit(3);
  await eventually(async () => (await networks()).length > 0, LIMIT_MS);
  await killEngine();
  const second = await submit(2);
  await cluster.restartAgent('one', OWN_NETWORKS, 'kill');
  const all = [...first, ...second];
  await Promise.all(all.map((id) => api.waitFor(id, 'running', LIMIT_MS)));
  // The host is a swarm of its own, so that each execution may have an overlay network, too (P98).
  const bridges = (await networks()).filter(({ Driver }) => Driver === 'bridge');
  expect(bridges).toHaveLength(all.length);

  await Promise.all(all.map((id) => api.terminate(id)));
  await killEngine();
  await Promise.all(all.map((id) => api.waitFor(id, 'terminated', LIMIT_MS)));
  // An agent that ends removes unused networks at once. The next one finds the bridges of the killed engine.
  await cluster.restartAgent('one', OWN_NETWORKS, 'stop');
  const left = async () => [
    ...(await networks()).map(({ Name }) => Name),
    ...(await host.bridges()).filter((name) => name.startsWith('berth')),
  ];
  await eventually(async () => (await left()).length === 0, LIMIT_MS);
});
