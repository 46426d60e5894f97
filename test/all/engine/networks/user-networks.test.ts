/**
 * The networks of users and executions on a real Docker engine. NETWORK_CONTAINERS=1000 starts as many
 * containers of one user on one host as a Linux bridge has ports for, NETWORK_USERS=300 as many users.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type Docker from 'dockerode';
import { describe, expect, test } from 'vitest';
import { connectEngine, DEFAULT_SOCKET, unixHost } from '../../../../agent/engine/engine-address.ts';
import { systemPath } from '../../../../agent/system-programs.ts';
import { FairQueue } from '../../../../shared/fair-queue.ts';
import type { Assignment } from '../../../../shared/protocol/assignment.ts';
import { dockerRig } from '../../../support/engines/docker-rig.ts';
import { runIn } from '../../../support/engines/run-in-container.ts';
import { eventually } from '../../../support/tools/eventually.ts';

/** More than the first network of a user has addresses: by default a small one, else the usual one. */
const CONTAINERS = Number(process.env.NETWORK_CONTAINERS ?? 10);
const USERS = Number(process.env.NETWORK_USERS ?? 3);
const MS_PER_CONTAINER = 3_000;
/** As many as an agent starts at once. */
const AT_ONCE = 8;

/** A client that notes the options of the networks that it makes. */
function noting(made: Docker.NetworkCreateOptions[]): Docker {
  const client = connectEngine(process.env.DOCKER_HOST || unixHost(DEFAULT_SOCKET));
  const create = client.createNetwork.bind(client) as (
    options: Docker.NetworkCreateOptions,
  ) => Promise<unknown>;
  return Object.assign(client, {
    createNetwork: (options: Docker.NetworkCreateOptions) => {
      made.push(options);
      return create(options);
    },
  });
}

const { docker, deployment, engine, makeEngine, assignment, run, exitOf } = dockerRig('nets');

const networks = (): Promise<Docker.NetworkInspectInfo[]> =>
  docker.listNetworks({ filters: { label: [`berth.deployment=${deployment}`] } });
const networksOf = async (id: string): Promise<string[]> =>
  Object.keys((await docker.getContainer(id).inspect()).NetworkSettings.Networks);
const ip = (...words: string[]) => promisify(execFile)('ip', words, { env: { PATH: systemPath() } });
const devices = async (): Promise<string[]> =>
  JSON.parse((await ip('-json', 'link')).stdout).map(({ ifname }: { ifname: string }) => ifname);

const bridgeOf = ({ Options }: Docker.NetworkInspectInfo): string | [] =>
  Options?.['com.docker.network.bridge.name'] ?? [];

/** Serves a page on a port that the description does not declare. */
const SECRET = ['sh', '-c', 'echo secret > /tmp/index.html; exec httpd -f -p 8080 -h /tmp'];
const serve = async (changes: Partial<Assignment>): Promise<string> => {
  const container = await run({ ...changes, command: SECRET });
  if (container.state !== 'running') throw new Error(`it is ${container.state}`);
  return container.ipAddress;
};
/** Exit code of a container that reads the page: 0 if it could. */
const read = async (changes: Partial<Assignment>, at: string): Promise<number> => {
  const patience = 'for i in 1 2 3; do timeout 1 wget -q -O - "$0" && exit 0; done; exit 1';
  const { id } = await run({ ...changes, command: ['sh', '-c', patience, `http://${at}:8080/`] });
  return (await exitOf(id)).exitCode;
};

describe('isolation', () => {
  test('P96: a container has no IPv6, which the firewall leaves alone, not even where the engine gives it to all networks', async () => {
    const made: Docker.NetworkCreateOptions[] = [];
    const on = makeEngine({ docker: noting(made) });
    for (const [index, isolation] of (['user', 'none'] as const).entries()) {
      const ids = { service: index + 1, execution: index + 1 };
      const { id } = await run({ ...ids, isolation, command: ['cat', '/proc/net/if_inet6'] }, on);
      expect(await exitOf(id)).toMatchObject({ exitCode: 0 });
      expect(String(await docker.getContainer(id).logs({ stdout: true }))).toBe('');
      await engine().remove(id);
    }
    // A network is made again where another program took its addresses at that moment.
    expect(made.length).toBeGreaterThanOrEqual(2);
    expect(made.filter(({ EnableIPv6 }) => EnableIPv6 !== false)).toEqual([]);
  });
  test(`P91, P92: ${USERS} users have a network each on one host, reach their own containers by name and address, and no other's`, {
    timeout: 60_000 + 2 * USERS * MS_PER_CONTAINER,
  }, async () => {
    const lane = new FairQueue({ total: AT_ONCE });
    const of = (user: number) => ({ execution: user, owner: `user${user}` });
    const addresses = await Promise.all(
      Array.from({ length: USERS }, (_, at) => lane.run(() => serve({ service: at + 1, ...of(at + 1) }))),
    );
    const subnets = (await networks()).map(({ IPAM }) => IPAM?.Config?.[0]?.Subnet);
    expect([subnets.length, new Set(subnets).size]).toEqual([USERS, USERS]);
    // The last user's container, from another execution of that user and from another user.
    const { name } = assignment({ service: USERS });
    const address = String(addresses.at(-1));
    const own = { owner: of(USERS).owner, execution: USERS + 1 };
    expect(await read({ service: USERS + 1, ...own }, name)).toBe(0);
    expect(await read({ service: USERS + 2, ...own }, address)).toBe(0);
    expect(await read({ service: USERS + 3, ...of(1) }, name)).toBe(1);
    expect(await read({ service: USERS + 4, ...of(1) }, address)).toBe(1);
    const left = await engine().list();
    await Promise.all(left.map(({ id }) => lane.run(() => engine().remove(id))));
    await engine().removeUnused(0);
    await engine().removeUnused(0);
    expect(await networks()).toEqual([]);
  });
  test('P91: with isolation `execution`, executions of one user do not reach each other', async () => {
    const isolation = 'execution';
    const address = await serve({ service: 2, execution: 8, isolation });
    expect(await read({ service: 3, execution: 8, isolation }, address)).toBe(0);
    expect(await read({ service: 4, execution: 9, isolation }, address)).toBe(1);
  });
  test('P91: with isolation `none`, all containers of the deployment share a network', async () => {
    const isolation = 'none';
    const address = await serve({ service: 2, owner: 'alice', isolation });
    expect(await read({ service: 3, owner: 'bob', execution: 9, isolation }, address)).toBe(0);
    expect((await networks()).map(({ Name }) => Name)).toEqual([`berth-${deployment}`]);
  });
});

describe('a network that is full', () => {
  /** Networks for 5 and 13 containers. */
  const small = () => makeEngine({ prefixes: [29, 28] });
  const start = (on: ReturnType<typeof small>, first: number, count: number) =>
    Promise.all(Array.from({ length: count }, (_, i) => run({ service: first + i, command: SECRET }, on)));

  test(`P93: a full network gets a larger one, and all ${CONTAINERS} containers of the user reach each other by name`, {
    timeout: 60_000 + CONTAINERS * MS_PER_CONTAINER,
  }, async () => {
    const on = process.env.NETWORK_CONTAINERS ? engine() : small();
    const lane = new FairQueue({ total: AT_ONCE });
    const first = await run({ command: SECRET }, on);
    const others = Array.from({ length: CONTAINERS - 1 }, (_, at) => at + 2);
    const late = await Promise.all(
      others.map((service) => lane.run(() => run({ service, command: SECRET }, on))),
    );
    expect(late.filter(({ state }) => state !== 'running')).toEqual([]);
    expect(await networks()).toHaveLength(2);
    expect(await networksOf(first.id)).toHaveLength(2);
    // The address at which a container is known does not change.
    expect(await on.inspect(first.id)).toEqual(first);
    for (const [from, to] of [
      [first.id, CONTAINERS],
      [late.at(-1)?.id, 1],
      [late.at(-1)?.id, Math.ceil(CONTAINERS / 2)],
    ] as const) {
      const { name } = assignment({ service: to });
      const page = () => runIn(docker, String(from), 'wget', '-q', '-O', '-', `http://${name}:8080`);
      await eventually(async () => (await page()).includes('secret'));
    }
    await Promise.all([first, ...late].map(({ id }) => lane.run(() => on.remove(id))));
  });
  test('P93: the next agent connects containers that a killed agent left on the small network only', async () => {
    const on = small();
    const early = await start(on, 1, 5);
    await start(on, 6, 1);
    const large = (await networks()).find(({ Name }) => Name.endsWith('-1'));
    const stray = String(early[2]?.id);
    await docker.getNetwork(String(large?.Id)).disconnect({ Container: stray });
    await small().removeUnused(60_000);
    expect(await networksOf(stray)).toHaveLength(2);
  });
});

test('P95: a bridge that a killed engine left in the kernel is removed after half a minute, and no bridge in use is', async () => {
  let nowMs = 0;
  const on = makeEngine({ uptimeMs: () => nowMs });
  await run({}, on);
  const [network] = await networks();
  const used = String(network && bridgeOf(network));
  const left = `${used.slice(0, 10)}fffff`;
  await ip('link', 'add', left, 'type', 'bridge');
  const before = await devices();
  await on.removeUnused(0);
  expect(await devices()).toEqual(expect.arrayContaining([used, left]));
  // Other tests use the same engine: their bridges that it is creating get a network, or go.
  await eventually(async () => {
    const known = [left, ...(await docker.listNetworks()).flatMap(bridgeOf)];
    const now = await devices();
    return before.every((name) => !name.startsWith('berth') || known.includes(name) || !now.includes(name));
  });
  nowMs += 30_000;
  await on.removeUnused(0);
  expect(await devices()).not.toContain(left);
  expect(await devices()).toContain(used);
});
