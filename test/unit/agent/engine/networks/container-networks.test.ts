/** The networks of containers on an engine whose networks, containers and failures the test has. */
import { afterEach, expect, test, vi } from 'vitest';
import { networkName } from '../../../../../agent/engine/networks/scope.ts';
import { type Devices, UnusedNetworks } from '../../../../../agent/engine/networks/unused-networks.ts';
import { Refusal } from '../../../../support/engines/scripted-engine.ts';
import { assignment } from '../../../../support/fixtures/assignments.ts';
import { failure } from '../../../../support/fixtures/failures.ts';
import { labels, networkRig, refusals, subnet } from '../../../../support/rigs/network-rig.ts';

afterEach(() => void vi.useRealTimers());

const deployment = 'd';
const alice = assignment();
const [small, large, bobs, all] = [
  networkName({ kind: 'user', of: 'alice' }, deployment, 0),
  networkName({ kind: 'user', of: 'alice' }, deployment, 1),
  networkName({ kind: 'user', of: 'bob' }, deployment, 0),
  'berth-d',
];
const bob = assignment({ owner: 'bob', execution: 2 });
const nobody = assignment({ isolation: 'none', execution: 3 });
const own = labels({ 'berth.owner': 'alice' });
const full = new Error("no available IPv4 addresses on this network's address pools: x");
const missing = Object.assign(new Error('network n1 not found'), { statusCode: 404 });

test('P91, P92: each user has a small network with a sub-network of its own, made once and before anybody joins it', async () => {
  const bridgeMade = vi.fn(async () => {});
  const { networks, created } = await networkRig({ bridgeMade });
  const [first, same] = await Promise.all([networks.join(alice), networks.join(alice)]);
  const others = [await networks.join(bob), await networks.join(nobody)];
  expect([first, same, ...others]).toEqual(['n1', 'n1', 'n2', 'n3']);
  expect(bridgeMade).toHaveBeenCalledTimes(3);
  const bridge = { Driver: 'bridge', EnableIPv6: false, CheckDuplicate: true };
  const device = (Name: RegExp) => ({ 'com.docker.network.bridge.name': expect.stringMatching(Name) });
  const ranges = (Subnet: string) => ({ Driver: 'default', Config: [{ Subnet }] });
  expect(created).toEqual([
    {
      ...{ ...bridge, Name: small, Labels: own },
      ...{ IPAM: ranges('198.18.0.0/26'), Options: device(/^berth.{5}84800$/) },
    },
    {
      ...{ ...bridge, Name: bobs, Labels: labels({ 'berth.owner': 'bob' }) },
      ...{ IPAM: ranges('198.18.0.64/26'), Options: device(/^berth.{5}84801$/) },
    },
    { ...bridge, Name: all, Labels: labels(), Options: device(/^berth[0-9a-f]{10}$/) },
  ]);
});

test('P92: a sub-network overlaps none of other networks, and on its own machine none of the routes, except those of bridges of its engine', async () => {
  const routes = async () => [
    { ...subnet('198.18.0.64/26'), device: 'eth0' },
    { ...subnet('198.18.0.128/26'), device: 'berth93abc00001' },
    { ...subnet('198.18.0.128/26'), device: 'berthother' },
  ];
  const found = [];
  for (const local of [true, false]) {
    const { networks, addNetwork, created } = await networkRig({ routes, local });
    addNetwork({ IPAM: { Config: [{ Subnet: '198.18.0.0/26' }] } });
    await networks.join(alice);
    found.push(JSON.stringify(created[0]?.IPAM));
  }
  expect(found).toEqual([
    expect.stringContaining('198.18.0.192/26'),
    expect.stringContaining('198.18.0.64/26'),
  ]);
  const { networks, created } = await networkRig({ subnets: [subnet('198.18.0.0/26')] });
  await networks.join(alice);
  await expect(networks.join(bob)).rejects.toMatchObject(
    failure('temporary', 'no sub-network /26 is free in BERTH_AGENT_SUBNETS=198.18.0.0/26'),
  );
  const [device = ''] = Object.values(created[0]?.Options ?? {}) as string[];
  const routesOf = async () => [{ ...subnet('198.18.0.0/26'), device }];
  const again = await networkRig({ local: true, routes: routesOf });
  await again.networks.join(alice);
  expect(again.created[0]?.IPAM).toEqual(created[0]?.IPAM);
});

test('P91: the oldest network of the name counts, and one without the label of the deployment is refused', async () => {
  for (const [Name, of, Labels] of [
    [small, alice, own],
    [all, nobody, labels()],
  ] as const) {
    const { networks, addNetwork, created, restart, known } = await networkRig();
    addNetwork({ Id: 'part', Name: `${Name}-x`, Labels, Created: '0' });
    addNetwork({ Id: 'young', Name, Labels, Created: '2' });
    addNetwork({ Id: 'b', Name, Labels, Created: '1' });
    addNetwork({ Id: 'a', Name, Labels, Created: '1' });
    expect(await networks.join(of)).toBe('a');
    known.splice(0);
    addNetwork({ Name });
    const refused = expect.stringContaining('does not belong to this deployment');
    await expect(restart().join(of)).rejects.toMatchObject({ kind: 'permanent', message: refused });
    expect(created).toEqual([]);
  }
});

test('P92: a sub-network that the engine refuses is left to another agent, and otherwise the next one is tried', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] }).setTimerTickMode('nextTimerAsync');
  const conflicts = [
    new Refusal(409, 'network with name exists already'),
    new Refusal(403, 'Pool overlaps with other one on this address space'),
    new Refusal(500, 'cannot create: networks have same bridge name'),
    new Refusal(500, 'the bridge does not match requested configuration'),
  ];
  for (const conflict of conflicts) {
    const { engine, networks, created, addNetwork } = await networkRig();
    let looks = 0;
    engine.before = ({ call, filters, body }) => {
      if (filters.name && looks++ === 20)
        addNetwork({ Id: 'others', Name: bobs, Labels: labels({ 'berth.owner': 'bob' }) });
      if (call !== 'POST /networks/create' || body.IPAM.Config[0].Subnet !== '198.18.0.0/26')
        return undefined;
      throw conflict;
    };
    expect(await networks.join(alice)).toBe('n1');
    expect(created).toMatchObject([{ IPAM: { Config: [{ Subnet: '198.18.0.64/26' }] } }]);
    expect(await networks.join(bob)).toBe('others');
  }
  const { engine, networks, calls } = await networkRig();
  const creations = () => calls.filter((call) => call === 'POST /networks/create').length;
  engine.refuse('POST /networks/create', 500, 'no');
  await expect(networks.join(alice)).rejects.toThrow('no');
  expect(creations()).toBe(1);
  engine.refuse('POST /networks/create', 409, 'exists');
  await expect(networks.join(alice)).rejects.toMatchObject(failure('temporary', 'refused 20'));
  expect(creations()).toBe(21);
  const late = await networkRig();
  late.engine.refuse('POST /networks/create', 409, 'exists');
  const joined = late.networks.join(alice);
  await vi.waitUntil(() => late.calls.includes('POST /networks/create'));
  late.addNetwork({ Id: 'others', Name: small, Labels: own });
  expect(await joined).toBe('others');
});

test('P91: agents that race for the network of all find the one that was first, and without its bridge the engine names another', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] }).setTimerTickMode('nextTimerAsync');
  for (const [refusal, isOthers] of [
    [new Refusal(409, 'exists'), true],
    [new Refusal(500, 'networks have same bridge name'), true],
    [new Refusal(500, 'the bridge exists'), false],
  ] as const) {
    const { engine, networks, created, addNetwork } = await networkRig();
    let looks = 0;
    engine.before = ({ call, filters, body }) => {
      if (filters.name) looks += 1;
      if (looks === 4 && isOthers) addNetwork({ Id: 'others', Name: all, Labels: labels() });
      if (call === 'POST /networks/create' && Object.keys(body.Options).length > 0) throw refusal;
    };
    expect(await networks.join(nobody)).toBe(isOthers ? 'others' : 'n1');
    expect(created).toHaveLength(isOthers ? 0 : 1);
  }
  const { engine, networks, calls } = await networkRig();
  engine.refuse('POST /networks/create', 409, 'exists');
  await expect(networks.join(nobody)).rejects.toMatchObject(failure('temporary', 'vanished'));
  expect(calls.filter((call) => call === 'GET /networks')).toHaveLength(22);
  engine.before = undefined;
  expect(await networks.join(nobody)).toBe('n1');
});

test('P93: the start that finds no address makes one large network, which the running containers join by their names', async () => {
  const { networks, addContainer, connected, created, restart, engine } = await networkRig();
  const id = await networks.join(alice);
  for (const name of ['c1', 'c2']) addContainer(name, id, { Labels: own });
  addContainer('foreign', id);
  await networks.started(alice, 'c1');
  expect(connected).toEqual([]);
  const recovered = ['c1', 'c2'].map((id) => networks.recover(alice, id, full));
  expect(await Promise.all(recovered)).toEqual([true, true]);
  expect(created.slice(1)).toMatchObject([{ Name: large, IPAM: { Config: [{ Subnet: '198.18.4.0/22' }] } }]);
  const joined = [`c1 as c1-name to ${large}`, `c2 as c2-name to ${large}`];
  expect(connected.sort()).toEqual(joined);
  expect(await networks.join(alice)).toBe('n2');
  expect(await networks.recover(alice, 'c1', full)).toBe(true);
  expect(created).toHaveLength(2);
  addContainer('c3', 'n1', { Labels: own });
  await networks.started(alice, 'c3');
  expect(connected.at(-1)).toBe(`c3 as ${alice.name} to ${large}`);
  await networks.started(bob, 'c3');
  await networks.started(assignment({ network: 'lan' }), 'c3');
  addContainer('c4', 'n1', { Labels: own });
  expect(await restart().join(alice)).toBe('n2');
  expect(connected.slice(3)).toEqual([`c4 as c4-name to ${large}`]);
  addContainer('c5', 'n2', { Labels: own });
  await expect(networks.recover(alice, 'c5', full)).rejects.toMatchObject({
    ...failure('temporary', 'of user alice on this host is full: it has 1021 addresses'),
  });
  // A network that an earlier agent has made large is found.
  const later = restart();
  const small = later.join(alice);
  await small;
  await later.started(alice, 'c1');
  expect(connected.at(-1)).toBe(`c1 as ${alice.name} to ${large}`);
  const tolerated = ['403 done', '404 done', '409 done', '500 refused'];
  expect(await refusals(engine, '/connect', () => networks.started(alice, 'c1'))).toEqual(tolerated);
});

test('P93, P95: a start is tried again on another network only if its own has vanished or is full', async () => {
  const { networks, calls, known } = await networkRig();
  expect(await networks.join(alice)).toBe('n1');
  expect(await networks.join(nobody)).toBe('n2');
  const looks = calls.length;
  expect(await networks.join(alice)).toBe('n1');
  expect(await networks.join(nobody)).toBe('n2');
  expect(calls).toHaveLength(looks);
  const other = new Error('no space left on device');
  for (const one of [alice, nobody]) expect(await networks.recover(one, 'c1', other)).toBe(false);
  expect(await networks.recover(nobody, 'c1', full)).toBe(false);
  expect(await networks.recover(assignment({ network: 'lan' }), 'c1', missing)).toBe(false);
  known.splice(0);
  for (const one of [alice, nobody]) expect(await networks.recover(one, 'c1', missing)).toBe(true);
  expect([await networks.join(alice), await networks.join(nobody)]).toEqual(['n3', 'n4']);
  const shared = await networkRig({ network: 'lan' });
  expect(await shared.networks.recover(alice, 'c1', missing)).toBe(true);
  expect(await shared.networks.recover(alice, 'c1', full)).toBe(false);
  await shared.networks.started(alice, 'c1');
  expect(shared.calls).toEqual([]);
});

test('P94: an execution stays on the network of its containers, until it has none', async () => {
  const { engine, networks, addNetwork, addContainer, containers, clock } = await networkRig();
  const name = networkName({ kind: 'execution', of: '1' }, deployment, 0);
  addNetwork({ Id: 'early', Name: name, Labels: labels({ 'berth.execution': '1' }) });
  addNetwork({ Id: 'foreign' });
  addContainer('c1', 'early', { Labels: labels({ 'berth.execution': '1' }) });
  addContainer('c2', 'foreign', { Labels: labels({ 'berth.execution': '4' }) });
  engine.refuse('GET /containers/json', 500, 'later');
  await expect(networks.join(alice)).rejects.toThrow('later');
  engine.before = undefined;
  expect(await networks.join(alice)).toBe('early');
  expect(await networks.join(assignment({ isolation: 'execution', execution: 5 }))).toBe('n1');
  await networks.removeUnused(100);
  expect(await networks.join(alice)).toBe('early');
  containers.clear();
  clock.ms += 99;
  await networks.removeUnused(100);
  expect(await networks.join(alice)).toBe('n2');
});

test('P47, P95: a network goes once nothing has used it for so long, and those of others and of the swarm stay', async () => {
  const { networks, known, addNetwork, addContainer, clock, connected, engine } = await networkRig();
  const ids = () => known.map(({ Id }) => Id);
  await networks.join(alice);
  await networks.join(nobody);
  addNetwork({ Id: 'other', Labels: { 'berth.deployment': 'e' } });
  addNetwork({ Id: 'swarm', Labels: own, Scope: 'swarm' });
  const states = { byName: 'created', byId: 'running', over: 'exited', dead: 'dead' };
  for (const [Id, State] of Object.entries(states)) {
    addNetwork({ Id, Name: `${Id}-net`, Labels: labels({ 'berth.execution': Id }) });
    addContainer(Id, Id, {
      State,
      Labels: labels({ 'berth.execution': '1' }),
      HostConfig: { NetworkMode: Id === 'byName' ? `${Id}-net` : 'bridge' },
      ...(Id === 'byName' && { NetworkSettings: {} }),
    });
  }
  const everything = ids();
  await networks.removeUnused(100);
  clock.ms = 50;
  await networks.join(alice);
  clock.ms = 99;
  await networks.removeUnused(100);
  expect(ids()).toEqual(everything);
  clock.ms = 100;
  await networks.removeUnused(100);
  expect(ids()).toEqual(['n1', 'other', 'swarm', 'byName', 'byId']);
  clock.ms = 199;
  const tolerated = ['403 done', '404 done', '409 done', '500 refused'];
  expect(await refusals(engine, 'DELETE', () => networks.removeUnused(100))).toEqual(tolerated);
  await networks.removeUnused(100);
  expect([await networks.join(alice), await networks.join(nobody)]).toEqual(['n3', 'n4']);
  addNetwork({ Id: 'more', Name: large, Labels: own });
  addContainer('c1', 'n3', { Labels: own });
  await networks.removeUnused(100);
  expect(connected).toEqual([`c1 as c1-name to ${large}`]);
});

test("P95: a bridge of this engine that has had no network for 30 s goes, and nobody else's", async () => {
  const { docker, addNetwork, created, networks } = await networkRig();
  await networks.join(alice);
  const prefix = String(Object.values(created[0]?.Options ?? {})[0]).slice(0, 10);
  const removed: string[] = [];
  const devices: Devices = {
    list: async () =>
      ['00000', '00001', '0000', '000000'].map((end) => prefix + end).concat('berth000000000x', 'eth0'),
    removeBridge: async (name) => void removed.push(name),
  };
  addNetwork({ Options: { 'com.docker.network.bridge.name': `${prefix}00001` } });
  const clock = { ms: 0 };
  const uptimeMs = () => clock.ms;
  for (const local of [false, true]) {
    const unused = new UnusedNetworks(docker, { deployment, local, uptimeMs }, async () => 'engine', devices);
    for (const ms of [0, 29_999, 30_000]) {
      clock.ms = ms;
      await unused.remove(1e9, () => {});
      expect(removed).toEqual(local && ms === 30_000 ? [`${prefix}00000`] : []);
    }
  }
});

test('P91, P98: a description names only networks that the settings allow, and a shared network must be there for containers', async () => {
  const { networks } = await networkRig();
  expect(await networks.join(assignment({ network: 'lan' }))).toBe('lan');
  await expect(networks.join(assignment({ network: 'host' }))).rejects.toMatchObject({ kind: 'permanent' });
  expect(await networks.problem()).toBeUndefined();
  const shared = await networkRig({ network: 'lan', overlay: true });
  const { engine, addNetwork, known } = shared;
  expect(await shared.networks.swarm()).toBeNull();
  for (const [swarm, network, problem] of [
    [undefined, undefined, 'not in a swarm'],
    [{ LocalNodeState: 'inactive', ControlAvailable: true }, undefined, 'not in a swarm'],
    [{ LocalNodeState: 'active', ControlAvailable: true }, undefined, 'does not exist in the swarm'],
    [{ LocalNodeState: 'active', ControlAvailable: false }, undefined, undefined],
    [{}, { Scope: 'swarm', Attachable: false }, 'not attachable'],
    [{}, { Scope: 'swarm', Attachable: true }, undefined],
    [{}, { Scope: 'local', Attachable: false }, undefined],
  ] as const) {
    engine.swarm = swarm;
    known.splice(0);
    if (network) addNetwork({ Name: 'lan', ...network });
    const joined = shared.networks.join(alice);
    if (problem === undefined) expect(await joined).toBe('lan');
    else await expect(joined).rejects.toMatchObject(failure('temporary', problem));
  }
  engine.before = () => {
    throw new Refusal(500, 'no');
  };
  await expect(shared.networks.problem()).rejects.toThrow('no');
});
