/** Networks of users across the hosts of a swarm. The first host manages it. */
import type Docker from 'dockerode';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OverlayNetworks } from '../../../agent/engine/networks/overlay-networks.ts';
import { parseSubnet, subnetText } from '../../../agent/engine/networks/subnets.ts';
import type { RestClient } from '../../support/clients/rest-client.ts';
import { type Cluster, startCluster } from '../../support/cluster/cluster.ts';
import { application, script } from '../../support/fixtures/descriptions.ts';
import { eventually } from '../../support/tools/eventually.ts';

const LIMIT_MS = 150_000;
/** Serves a page on a port that the description does not declare. */
const SERVER = 'echo page > /tmp/index.html; exec httpd -f -p 8080 -h /tmp';

let cluster: Cluster;
let alice: RestClient;
let bob: RestClient;

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

/** Submits services named after the hosts' labels, one on each host. */
const onBoth = (client: RestClient, text = SERVER) =>
  client.submit(
    application(
      script(text, { name: 'left', labels: ['ssd'] }),
      script(text, {
        name: 'right',
        labels: ['gpu'],
        monitor: false,
        ...(text === SERVER && { health: { http: { path: '/', port: 8080 } } }),
      }),
    ),
  );

const patiently = (tries: number, at: string): string[] => [
  'sh',
  '-c',
  'for i in $(seq $0); do timeout 2 wget -q -O /dev/null "$1" && exit; sleep 1; done; exit 1',
  String(tries),
  `http://${at}:8080/`,
];
/** Whether a container gets the page of another one. */
const reads = async (
  from: { host: string; id: string } | undefined,
  at: string,
  tries = 5,
): Promise<boolean> =>
  cluster
    .host(String(from?.host))
    .exec(from?.id, ...patiently(tries, at))
    .then(
      () => true,
      () => false,
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
  await Promise.all([mine, other].map((id) => cluster.api.waitFor(id, 'running')));
  const { left0, right0 } = await cluster.containersOf(mine);
  const { left0: foreign } = await cluster.containersOf(other);
  if (!left0 || !right0 || !foreign) throw new Error('a container is missing');
  expect([left0.host, right0.host, foreign.host]).toEqual(['one', 'two', 'one']);
  expect(await reads(left0, nameOf('right0', mine))).toBe(true);
  expect(await reads(right0, nameOf('left0', mine))).toBe(true);
  const [address = ''] = await overlayAddresses(right0);
  expect(await reads(left0, address)).toBe(true);
  expect(await reads(foreign, nameOf('right0', mine), 2)).toBe(false);
  expect(await reads(foreign, address, 2)).toBe(false);

  const found = await overlays();
  expect(found.map(({ Labels }) => Labels?.['berth.owner']).sort()).toEqual(['alice', 'bob']);
  expect(found.every(({ Internal }) => Internal)).toBe(true);
  // The way out is the bridge, where the firewall applies, and not a bridge of the swarm.
  const { NetworkSettings } = await cluster.host('two').docker.getContainer(right0.id).inspect();
  expect(NetworkSettings.Networks).not.toHaveProperty('docker_gwbridge');
  await cluster.terminate(mine, other);
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
  await cluster.api.waitFor(id, 'running');
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
  expect(await reads(left0, last)).toBe(true);
  await container.remove({ force: true });
  await cluster.terminate(id);
  await Promise.all(made.map(({ Id }) => docker.getNetwork(Id).remove()));
});

test('P100: an overlay network goes once no container of any host uses it, and no kill -9 of agents and engines leaves one behind', {
  timeout: 3 * LIMIT_MS,
}, async () => {
  const id = await onBoth(alice, 'exec sleep 1000');
  await eventually(async () => (await overlays()).length > 0, LIMIT_MS);
  await cluster.restartAgent('one', {}, 'kill');
  const killed = cluster.host('two');
  await killed.engine.kill();
  await killed.engine.start();
  await cluster.restartAgent('two', {}, 'kill');
  await cluster.api.waitFor(id, 'running', LIMIT_MS);
  // It may have run before the engine was killed, and then starts again.
  await eventually(async () => (await cluster.containersOf(id)).right0?.host === 'two', LIMIT_MS);
  await cluster.terminate(id);
  await cluster.restartAgent('one', {}, 'kill');
  await eventually(async () => (await overlays()).length === 0, LIMIT_MS);
});

test('P101, C191: a container starts without its overlay network while no agent of a manager is connected, and joins it once one is', {
  timeout: 2 * LIMIT_MS,
}, async () => {
  const manager = cluster.host('one');
  await manager.agent.stop();
  const id = await alice.submit(application(script(SERVER, { name: 'right', labels: ['gpu'] })));
  await cluster.api.waitFor(id, 'running');
  const { right0 } = await cluster.containersOf(id);
  if (!right0) throw new Error('the container is missing');
  expect(await overlayAddresses(right0)).toEqual([]);
  await cluster.restartAgent('one');
  await eventually(async () => (await overlayAddresses(right0)).length === 1, LIMIT_MS);
  const peer = await alice.submit(application(script(SERVER, { name: 'left', labels: ['ssd'] })));
  await cluster.api.waitFor(peer, 'running');
  const { left0 } = await cluster.containersOf(peer);
  expect(await reads(left0, nameOf('right0', id))).toBe(true);
  await cluster.terminate(id, peer);
});
