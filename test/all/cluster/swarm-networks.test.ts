/**
 * Networks across the hosts of a swarm: those of users, and the one that the settings name. The first host
 * manages the swarm.
 */
import type Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OverlayNetworks } from '../../../agent/engine/networks/overlay-networks.ts';
import { parseSubnet, subnetText } from '../../../agent/engine/networks/subnets.ts';
import type { ServiceDescription } from '../../../shared/application-schema.ts';
import type { ApiClient } from '../../support/clients/api-client.ts';
import { type Cluster, OVERLAY, startCluster } from '../../support/cluster/cluster.ts';
import { application, script } from '../../support/fixtures/descriptions.ts';
import { eventually } from '../../support/tools/eventually.ts';

const LIMIT_MS = 150_000;
/** Settings of an agent that uses the network of the swarm. */
const NAMED = { BERTH_AGENT_NETWORK: OVERLAY };
/** Serves a page on a port that the description does not declare. */
const SERVER = 'echo page > /tmp/index.html; exec httpd -f -p 8080 -h /tmp';

let cluster: Cluster;
let alice: ApiClient;
let bob: ApiClient;

beforeAll(async () => {
  cluster = await startCluster({
    deployment: 'e2e-swarm',
    hosts: [
      { name: 'one', labels: ['ssd'] },
      { name: 'two', labels: ['gpu'] },
    ],
    network: '',
  });
  [alice, bob] = await Promise.all([cluster.addUser('alice'), cluster.addUser('bob')]);
});

afterAll(() => cluster?.close());

const overlays = async (): Promise<Docker.NetworkInspectInfo[]> => {
  const filters = { scope: ['swarm'], label: [`berth.deployment=${cluster.deployment}`] };
  return await cluster.host('one').docker.listNetworks({ filters });
};

/** Runs services named after the hosts' labels, one on each host. */
const onBoth = (client: ApiClient) =>
  client.run(
    application(
      script(SERVER, { name: 'left', labels: ['ssd'] }),
      script(SERVER, {
        ...{ name: 'right', labels: ['gpu'], monitor: false },
        health: { http: { path: '/', port: 8080 } },
      }),
    ),
  );

const patiently = (tries: number, at: string): string[] => [
  'sh',
  '-c',
  'for i in $(seq $0); do timeout 2 wget -O /dev/null "$1" && exit; sleep 1; done; exit 1',
  String(tries),
  `http://${at}:8080/`,
];
/**
 * Why a container does not get the page of another one; empty if it does. Engines of a swarm learn of new
 * ones by gossip, which may take a while.
 */
const problem = async (
  from: { host: string; id: string } | undefined,
  at: string,
  tries = 30,
): Promise<string> =>
  cluster
    .host(String(from?.host))
    .exec(from?.id, ...patiently(tries, at))
    .then(
      () => '',
      (error: Error) => error.message,
    );
/** The last address of a sub-network that a container can have. */
const lastAddress = (subnet = ''): string => {
  const { first, bits } = parseSubnet(subnet) ?? { first: 0, bits: 32 };
  return subnetText({ first: first + 2 ** (32 - bits) - 2, bits: 32 }).replace('/32', '');
};
const nameOf = (instance: string, id: number) => `${instance}-${id}-${cluster.deployment}`;

/** Addresses of a container on overlay networks. */
async function overlayAddresses({ host, id }: { host: string; id: string }): Promise<string[]> {
  const { NetworkSettings } = await cluster.host(host).docker.getContainer(id).inspect();
  return Object.entries(NetworkSettings.Networks)
    .filter(([name]) => name.endsWith('-swarm'))
    .map(([, { IPAddress }]) => IPAddress);
}

test('P98, P99, P211, C191: containers of a user reach each other by name across the hosts of a swarm, and no container of another user', {
  timeout: LIMIT_MS,
}, async () => {
  const [mine, other] = [await onBoth(alice), await onBoth(bob)];
  const { left0, right0 } = await cluster.containersOf(mine);
  const { left0: foreign } = await cluster.containersOf(other);
  if (!left0 || !right0 || !foreign) throw new Error('a container is missing');
  expect([left0.host, right0.host, foreign.host]).toEqual(['one', 'two', 'one']);
  expect(await problem(left0, nameOf('right0', mine))).toBe('');
  expect(await problem(right0, nameOf('left0', mine))).toBe('');
  const [address = ''] = await overlayAddresses(right0);
  expect(await problem(left0, address)).toBe('');
  expect(await problem(foreign, nameOf('right0', mine), 2)).not.toBe('');
  expect(await problem(foreign, address, 2)).not.toBe('');

  const found = await overlays();
  expect(found.map(({ Labels }) => Labels?.['berth.owner']).sort()).toEqual(['alice', 'bob']);
  expect(found.every(({ Internal }) => Internal)).toBe(true);
  // The way out is the bridge, where the firewall applies, and not a bridge of the swarm.
  const { NetworkSettings } = await cluster.host('two').docker.getContainer(right0.id).inspect();
  expect(NetworkSettings.Networks).not.toHaveProperty('docker_gwbridge');
  await cluster.api.end(mine, other);
});

test('P99: overlay networks that are made at the same time have 4,093 addresses each, and no two overlap', {
  timeout: LIMIT_MS,
}, async () => {
  const { docker } = cluster.host('one');
  // As on several managers: each chooses before it sees what the others have made.
  const makers = Array.from({ length: 4 }, () => new OverlayNetworks(docker, { ...cluster, local: false }));
  await Promise.all(makers.map((maker, at) => maker.make({ kind: 'execution', of: `${1_000 + at}` })));
  const made = (await overlays()).filter(({ Labels }) => Number(Labels?.['berth.execution']) >= 1_000);
  const subnets = made.map(({ IPAM }) => IPAM?.Config?.[0]?.Subnet);
  expect(new Set(subnets).size).toBe(makers.length);
  for (const subnet of subnets) expect(subnet).toMatch(/\/20$/);

  // An address beyond those of a network of the default size is reached from another host.
  const id = await onBoth(alice);
  const { left0 } = await cluster.containersOf(id);
  const network = (await overlays()).find(({ Labels }) => Labels?.['berth.owner'] === 'alice');
  const last = lastAddress(network?.IPAM?.Config?.[0]?.Subnet);
  const far = cluster.host('two').docker;
  const container = await far.createContainer({
    Image: 'berth/busybox:1',
    Cmd: ['sh', '-c', SERVER],
    HostConfig: { NetworkMode: String(network?.Name) },
    NetworkingConfig: {
      EndpointsConfig: { [String(network?.Name)]: { IPAMConfig: { IPv4Address: last } } },
    },
  });
  await container.start();
  expect(await problem(left0, last)).toBe('');
  await container.remove({ force: true });
  await cluster.api.end(id);
  await Promise.all(made.map(({ Id }) => docker.getNetwork(Id).remove()));
});

test('P101, C191: a container starts without its overlay network while no agent of a manager is connected, and joins it once one is', {
  timeout: 2 * LIMIT_MS,
}, async () => {
  const manager = cluster.host('one');
  await manager.agent.stop();
  const id = await alice.run(application(script(SERVER, { name: 'right', labels: ['gpu'] })));
  const { right0 } = await cluster.containersOf(id);
  if (!right0) throw new Error('the container is missing');
  expect(await overlayAddresses(right0)).toEqual([]);
  await cluster.restartAgent('one');
  await eventually(async () => (await overlayAddresses(right0)).length === 1, LIMIT_MS);
  const peer = await alice.run(application(script(SERVER, { name: 'left', labels: ['ssd'] })));
  const { left0 } = await cluster.containersOf(peer);
  expect(await problem(left0, nameOf('right0', id))).toBe('');
  await cluster.api.end(id, peer);
});

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

describe('the network that the settings name', () => {
  beforeAll(() => Promise.all(['one', 'two'].map((name) => cluster.restartAgent(name, NAMED))));

  test('C111, C24, H38, H41, P211, P213, C289: services on different hosts reach each other by name, clients reach each service at its own host, and one that is unhealthy starts again', async () => {
    const { api } = cluster;
    const id = await api.run(
      application(
        script(PAGE, peer('left', 'ssd', 'right')),
        script(PAGE, { ...peer('right', 'gpu', 'left'), monitor: false }),
      ),
    );
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
    expect((await api.discovery(id, 'right')).dns_names).toEqual([`right0-${id}-e2e-swarm`]);

    const endpoints = await api.endpoints(id);
    expect(endpoints.map(([, url]) => new URL(url).hostname)).toEqual(
      ['one', 'two'].map((name) => cluster.host(name).address),
    );
    const pages = await Promise.all(endpoints.map(async ([, url]) => (await cluster.fetch(url)).text()));
    expect(pages).toEqual(['I am left0\n', 'I am right0\n']);

    // What the killed agent has not found out, the next one finds, and the service starts once more.
    await cluster.host('two').exec(right0?.id, 'sh', '-c', 'kill $(cat /tmp/pid)');
    await cluster.restartAgent('two', NAMED, 'kill');
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
    await cluster.api.end(id);
    expect(await cluster.containersOf(id)).toEqual({});
  });

  test('C112, C114: a missing network is reported by a host that can detect it, which then receives no services, and otherwise by the failed start', async () => {
    const { api } = cluster;
    const missing = 'network nosuch does not exist in the swarm';
    const nosuch = { BERTH_AGENT_NETWORK: 'nosuch' };
    await Promise.all(['one', 'two'].map((name) => cluster.restartAgent(name, nosuch)));
    const on = (label: string) => api.submit(application(script('exec sleep 1000', { labels: [label] })));
    const [manager, worker] = await Promise.all([on('ssd'), on('gpu')]);
    const reasonOf = async (id: number) => String((await api.explain(id)).waiting_for);
    await eventually(async () => (await reasonOf(worker)).includes(missing), 60_000);
    expect(await reasonOf(worker)).toContain('the next attempt');
    expect(await reasonOf(manager)).toContain(`1 without the service network (${missing}`);
    expect(await cluster.containersOf(manager)).toEqual({});

    await Promise.all(['one', 'two'].map((name) => cluster.restartAgent(name, NAMED)));
    await Promise.all([manager, worker].map((id) => api.waitFor(id, 'running')));
    await cluster.api.end(manager, worker);
  });
});
