/** Applications on several hosts, each with an engine and an agent of its own, on a network of one swarm. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ServiceDescription } from '../../../shared/application-schema.ts';
import { type Cluster, OVERLAY, startCluster } from '../../support/cluster/cluster.ts';
import { application, script } from '../../support/fixtures/descriptions.ts';
import { eventually } from '../../support/tools/eventually.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({
    deployment: 'e2e-cluster',
    hosts: [
      { name: 'one', labels: ['ssd'] },
      { name: 'two', labels: ['gpu'] },
    ],
  });
});

afterAll(() => cluster?.close());

/** Serves its own name and prints the page of the other service. */
const PAGE = `
  echo "I am $SERVICE_NAME" > /tmp/index.html; httpd -f -p 80 -h /tmp & echo $! > /tmp/pid
  until wget -q -O - "http://$PEER/"; do sleep 0.1; done
  exec sleep 1000`;

const peer = (name: string, label: string, other: string): Partial<ServiceDescription> => ({
  name,
  labels: [label],
  environment: [['PEER', `{dns_name#${other}0}`]],
  ports: [{ name: 'Page', port_number: 80, protocol: 'tcp', url_template: 'http://{ip_port}/' }],
  // The hosts do not reach the addresses of this network.
  health: { http: { path: '/', port: 80 }, interval: 1, retries: 2, start_period: 10 },
});

test('C111, C24, H38, H41, P211, P213, C289: services on different hosts reach each other by name, clients reach each service at its own host, and one that is unhealthy starts again', async () => {
  const { api } = cluster;
  const id = await api.submit(
    application(
      script(PAGE, peer('left', 'ssd', 'right')),
      script(PAGE, { ...peer('right', 'gpu', 'left'), monitor: false }),
    ),
  );
  await api.waitFor(id, 'running');
  const { left0, right0 } = await cluster.containersOf(id);
  expect([left0?.host, right0?.host]).toEqual(['one', 'two']);
  // Each service has received the other's page: the live log is read until it contains the text.
  const services = await api.services(id);
  await Promise.all([
    cluster.logUntil(services[0]?.id, 'I am right0\n'),
    cluster.logUntil(services[1]?.id, 'I am left0\n'),
  ]);

  const network = await cluster.host('one').docker.getNetwork(OVERLAY).inspect();
  const [subnet] = network.IPAM?.Config ?? [];
  const prefix = String(subnet?.Subnet).split('.').slice(0, 3).join('.');
  for (const { ip_address } of services) expect(ip_address.startsWith(`${prefix}.`)).toBe(true);
  expect(await api.discover(id, 'right')).toEqual([`right0-${id}-e2e-cluster`]);

  const endpoints = await api.endpoints(id);
  expect(endpoints.map(([, url]) => new URL(url).hostname)).toEqual(
    ['one', 'two'].map((name) => cluster.host(name).address),
  );
  const pages = await Promise.all(endpoints.map(async ([, url]) => (await cluster.fetch(url)).text()));
  expect(pages).toEqual(['I am left0\n', 'I am right0\n']);

  // What the killed agent has not found out, the next one finds, and the service starts once more.
  await cluster.host('two').exec(right0?.id, 'sh', '-c', 'kill $(cat /tmp/pid)');
  await cluster.restartAgent('two', {}, 'kill');
  const again = await eventually(async () => {
    const { right0: now } = await cluster.containersOf(id);
    const isBack = now && now.id !== right0?.id && (await api.endpoints(id)).length === 2;
    return isBack ? now : undefined;
  }, 60_000);
  const { Config } = await cluster
    .host('two')
    .docker.getContainer(again?.id ?? '')
    .inspect();
  expect(Config.Labels['berth.generation']).toBe('2');
  await cluster.terminate(id);
  expect(await cluster.containersOf(id)).toEqual({});
});

test('C3, C208, H211, H212: labels choose the host, and an execution whose labels no host has stays queued, explains why, and starts once an administrator accepts them for a host', async () => {
  const { api } = cluster;
  const on = (...labels: string[]) => api.submit(application(script('exec sleep 1000', { labels })));
  const [gpu, ssd, both] = await Promise.all([on('gpu'), on('ssd'), on('gpu', 'ssd')]);
  await Promise.all([gpu, ssd].map((id) => api.waitFor(id, 'running')));
  expect((await cluster.containersOf(gpu)).main0?.host).toBe('two');
  expect((await cluster.containersOf(ssd)).main0?.host).toBe('one');
  expect(await api.explain(both)).toMatchObject({
    status: 'queued',
    placement: null,
    reasons: [{ filter: 'labels', hosts: 2, of_hosts: 2, labels: ['gpu', 'ssd'] }],
  });

  await cluster.restartAgent('two', { BERTH_AGENT_LABELS: 'gpu,ssd' });
  const { id, pending } = await api.host('two');
  expect(pending).toMatchObject({ labels: ['gpu', 'ssd'] });
  expect((await api.execution(both)).status).toBe('queued');
  await api.acceptOffer(id, pending);
  await api.waitFor(both, 'running');
  expect((await cluster.containersOf(both)).main0?.host).toBe('two');
  await cluster.restartAgent('two');
  // A change of labels does not move running services.
  expect((await api.execution(both)).status).toBe('running');
  await cluster.terminate(gpu, ssd, both);
});

test('C112, C114: a missing network is reported by a host that can detect it, which then receives no services, and otherwise by the failed start', async () => {
  const { api } = cluster;
  const missing = 'network nosuch does not exist in the swarm';
  const nosuch = { BERTH_AGENT_NETWORK: 'nosuch' };
  await Promise.all(['one', 'two'].map((name) => cluster.restartAgent(name, nosuch)));
  const on = (label: string) => api.submit(application(script('exec sleep 1000', { labels: [label] })));
  const [manager, worker] = await Promise.all([on('ssd'), on('gpu')]);
  const reasonOf = async (id: number) => String((await api.explain(id)).waiting_for);
  await eventually(async () => (await reasonOf(worker)).includes(missing));
  expect(await reasonOf(worker)).toContain('the next attempt');
  expect(await reasonOf(manager)).toContain(`1 without the service network (${missing}`);
  expect(await cluster.containersOf(manager)).toEqual({});

  await Promise.all(['one', 'two'].map((name) => cluster.restartAgent(name)));
  await Promise.all([manager, worker].map((id) => api.waitFor(id, 'running')));
  await cluster.terminate(manager, worker);
});
