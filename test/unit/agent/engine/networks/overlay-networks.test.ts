/** Overlay networks of a swarm, whose networks, containers and failures the test has. */
import { afterEach, expect, test, vi } from 'vitest';
import type { NetworkOptions } from '../../../../../agent/engine/networks/container-networks.ts';
import { overlayName } from '../../../../../agent/engine/networks/scope.ts';
import { assignment } from '../../../../support/fixtures/assignments.ts';
import { failure } from '../../../../support/fixtures/failures.ts';
import { labels, networkRig, refusals, subnet } from '../../../../support/rigs/network-rig.ts';

afterEach(() => void vi.useRealTimers());

const own = labels({ 'berth.owner': 'alice' });
const nameOf = (of: string) => overlayName({ kind: 'user', of }, 'd');
const [name, second] = [nameOf('alice'), nameOf('bob')];
const alice = { isolation: 'user', of: 'alice' } as const;
const onOverlay = assignment({ overlay: 'now' });

/** A manager of a swarm with a pool, whose waits take no time. */
async function rig(changes: Partial<NetworkOptions> = {}) {
  vi.useFakeTimers({ toFake: ['setTimeout'] }).setTimerTickMode('nextTimerAsync');
  const made = await networkRig({ networks: [], overlay: true, ...changes });
  const Cluster = { DefaultAddrPool: ['10.0.0.0/8'], SubnetSize: 24 };
  const member = { NodeID: 'node', LocalNodeState: 'active', RemoteManagers: null };
  made.engine.swarm = { ...member, ControlAvailable: true, Cluster };
  made.clock.ms = 1_000_000;
  return made;
}

test('P98: an engine reports its swarm with at most 32 managers, and none while it is not in one', async () => {
  const { engine, networks, calls } = await rig();
  expect(await networks.swarm()).toEqual({ node: 'node', isManager: true, managers: [] });
  const managers = Array.from({ length: 33 }, (_, at) => `m${at}`);
  const member = { NodeID: 'node', LocalNodeState: 'active', ControlAvailable: false };
  engine.swarm = { ...member, RemoteManagers: managers.map((NodeID) => ({ NodeID })) };
  expect(await networks.swarm()).toEqual({ node: 'node', isManager: false, managers: managers.slice(0, 32) });
  for (const swarm of [undefined, { ...member, LocalNodeState: 'pending' }]) {
    engine.swarm = swarm;
    expect(await networks.swarm()).toBeNull();
  }
  calls.splice(0);
  await networks.removeUnused(0);
  expect(calls).toEqual(['GET /networks', 'GET /containers/json']);
  const without = await rig({ overlay: false });
  expect(await without.networks.swarm()).toBeNull();
  await without.networks.removeUnused(0);
  expect(without.calls).toEqual(['GET /networks', 'GET /containers/json']);
});

test('P99: an overlay network is internal and attachable, and overlaps no network and none of the routes of its machine', async () => {
  const routes = async () => [{ ...subnet('10.0.16.0/20'), device: 'eth0' }];
  const made = [];
  for (const local of [true, false]) {
    const { networks, created, addNetwork, engine, known } = await rig({ routes, local });
    addNetwork({ IPAM: { Config: [{ Subnet: '10.0.0.0/24' }] } });
    await networks.makeOverlay(alice);
    made.push(...created);
    engine.refuse('POST /networks/create', 409, 'exists');
    await networks.makeOverlay(alice);
    expect(known).toHaveLength(2);
    engine.refuse('POST /networks/create', 500, 'no');
    await expect(networks.makeOverlay(alice)).rejects.toThrow('no');
  }
  const kind = { Driver: 'overlay', EnableIPv6: false, Attachable: true, Internal: true };
  const at = (Subnet: string) => ({
    ...{ ...kind, Name: name, Labels: own, CheckDuplicate: true },
    IPAM: { Driver: 'default', Config: [{ Subnet }] },
  });
  expect(made).toEqual([at('10.0.32.0/20'), at('10.0.16.0/20')]);
});

test('P99: a network without addresses is made again with others, and given up after ten times', async () => {
  const { engine, networks, created, known, calls } = await rig();
  const hidden = new Set(['10.0.0.0/20', '10.0.16.0/20']);
  engine.before = ({ call, body }) => {
    if (call !== 'POST /networks/create' || !hidden.has(body.IPAM?.Config[0].Subnet)) return undefined;
    created.push(body);
    known.push({ ...body, Id: `x${created.length}`, Created: '', Scope: 'swarm', IPAM: { Config: [] } });
    return { Id: `x${created.length}` };
  };
  await networks.makeOverlay(alice);
  expect(created.map((one) => JSON.stringify(one.IPAM))).toEqual(
    ['10.0.0.0/20', '10.0.16.0/20', '10.0.32.0/20'].map((text) => expect.stringContaining(text)),
  );
  expect(known.map(({ Id }) => Id)).toEqual(['n3']);
  // Two looks at the addresses of the last, and of each other one five.
  expect(calls.filter((call) => call === 'GET /networks')).toHaveLength(3 + 5 + 5 + 1);
  // Without a pool the swarm chooses, and a network that never appears is requested again.
  const lost = await rig();
  lost.engine.swarm = { LocalNodeState: 'active' };
  lost.engine.before = ({ call }) => (call === 'POST /networks/create' ? { Id: 'lost' } : undefined);
  const failed = failure('temporary', 'no addresses');
  await expect(lost.networks.makeOverlay(alice)).rejects.toMatchObject(failed);
  expect(lost.calls.filter((call) => call === 'POST /networks/create')).toHaveLength(10);
  expect(lost.calls.filter((call) => call.startsWith('DELETE'))).toEqual([]);
  const chosen = await rig();
  chosen.engine.swarm = { LocalNodeState: 'active' };
  chosen.engine.before = ({ call, body }) => {
    if (call === 'POST /networks/create') body.IPAM ??= { Config: [{ Subnet: '10.0.9.0/24' }] };
  };
  await chosen.networks.makeOverlay(alice);
  expect(chosen.created).toMatchObject([{ IPAM: { Config: [{ Subnet: '10.0.9.0/24' }] } }]);
});

test('P101: a container joins its overlay network only if its assignment and the settings have one', async () => {
  const { networks } = await rig();
  expect(await networks.overlay(onOverlay)).toBe(name);
  expect(await networks.overlay(assignment())).toBeUndefined();
  expect(await networks.overlay(assignment({ overlay: 'now', network: 'lan' }))).toBeUndefined();
  const alone = assignment({ overlay: 'now', isolation: 'none', execution: 9 });
  expect(await networks.overlay(alone)).toBeUndefined();
  for (const changes of [{ overlay: false }, { network: 'lan' }])
    expect(await (await rig(changes)).networks.overlay(onOverlay)).toBeUndefined();
});

test('P101: a start waits 5 s for its overlay network, and later ones not for a minute', async () => {
  const { networks, addNetwork, connected, clock, calls, engine } = await rig();
  addNetwork({ Name: name, Labels: own, Scope: 'swarm' });
  const tries = async (one: typeof onOverlay, failures: number, message: string) => {
    let starts = 0;
    const outcome = await networks
      .start(one, 'c1', async () => {
        starts += 1;
        if (starts > failures) return 'started';
        clock.ms += 1_000;
        throw new Error(message);
      })
      .catch((error) => error.message);
    return [starts, outcome];
  };
  expect(await tries(assignment(), 0, '')).toEqual([1, 'started']);
  expect(await tries(assignment({ overlay: 'later' as 'now' }), 0, '')).toEqual([1, 'started']);
  expect(connected).toEqual([]);
  const [late, gone] = ['error attaching to network x', `network ${name} not found`];
  expect(await tries(onOverlay, 4, late)).toEqual([5, 'started']);
  expect(connected).toEqual([`c1 as ${onOverlay.name} to ${name}`]);
  expect(await tries(onOverlay, 1, 'other')).toEqual([1, 'other']);
  expect(calls.join()).not.toContain('disconnect');
  expect(await tries(onOverlay, 5, gone)).toEqual([6, 'started']);
  expect(calls.filter((call) => call.endsWith('disconnect'))).toHaveLength(1);
  const missed = connected.length;
  clock.ms += 59_999;
  expect(await tries(onOverlay, 0, '')).toEqual([1, 'started']);
  expect(connected).toHaveLength(missed);
  clock.ms += 1;
  expect(await tries(onOverlay, 0, '')).toEqual([1, 'started']);
  expect(connected).toHaveLength(missed + 1);
  const start = async () => {
    const [, outcome] = await tries(onOverlay, 0, '');
    if (outcome !== 'started') throw new Error(String(outcome));
  };
  const outcomes = await refusals(engine, '/connect', start, [403, 409, 500]);
  expect(outcomes).toEqual(['403 done', '409 done', expect.stringContaining('refused')]);
});

test('P101: running containers that started without their overlay network join it once it is there', async () => {
  const { networks, addNetwork, addContainer, connected, engine, clock } = await rig();
  const overlaid = (owner: string, overlay: string) =>
    labels({ 'berth.owner': owner, 'berth.execution': '1', 'berth.overlay': overlay });
  addNetwork({ Name: name, Id: 'o', Labels: own, Scope: 'swarm' });
  const Labels = overlaid('alice', name);
  addContainer('on', 'o', { Labels, NetworkSettings: { Networks: { [name]: { NetworkID: 'o' } } } });
  for (const id of ['c1', 'c2']) addContainer(id, 'bridge', { Labels });
  addContainer('image', 'bridge', { Labels: overlaid('alice', second) });
  for (const id of ['b1', 'b2']) addContainer(id, 'bridge', { Labels: overlaid('bob', second) });
  addContainer('over', 'bridge', { Labels, State: 'exited' });
  let tried: string[] = [];
  engine.before = ({ call, body }) => {
    if (call.endsWith('connect')) tried.push(body.Container);
    return call.endsWith('disconnect') ? {} : undefined;
  };
  // A start without it is forgotten, so that the next one waits for it.
  await networks.start(onOverlay, 'c0', async () => {
    clock.ms += 5_000;
    if (tried.length < 2) throw new Error('attach to network');
  });
  tried = [];
  connected.splice(0);
  await networks.removeUnused(1e9);
  expect(tried).toEqual(['c1', 'b1', 'c2'].sort((a, b) => tried.indexOf(a) - tried.indexOf(b)));
  expect(connected).toEqual([`c1 as c1-name to ${name}`, `c2 as c2-name to ${name}`]);
  await networks.start(onOverlay, 'c0', async () => {});
  expect(tried.at(-1)).toBe('c0');
  addContainer('c3', 'bridge', { Labels });
  engine.refuse('connect', 500, 'attaching to network failed');
  await networks.removeUnused(1e9);
  engine.refuse('connect', 500, 'no');
  await expect(networks.removeUnused(1e9)).rejects.toThrow('no');
});

test('P100: a manager removes an overlay network that nobody has requested for so long, unless it is in use', async () => {
  const { networks, known, addNetwork, engine, clock, calls } = await rig();
  const ids = () => known.map(({ Id }) => Id);
  await networks.makeOverlay(alice);
  addNetwork({ Id: 'found', Name: second, Labels: own, Scope: 'swarm' });
  addNetwork({ Id: 'foreign', Scope: 'swarm' });
  await networks.removeUnused(100);
  clock.ms += 60;
  await networks.makeOverlay(alice);
  clock.ms += 39;
  await networks.removeUnused(100);
  expect(ids()).toEqual(['n1', 'found', 'foreign']);
  clock.ms += 1;
  engine.swarm = { LocalNodeState: 'active', ControlAvailable: false };
  await networks.removeUnused(100);
  expect(ids()).toEqual(['n1', 'found', 'foreign']);
  engine.swarm = { LocalNodeState: 'active', ControlAvailable: true };
  const refusing = (status: number) => engine.refuse('DELETE', status, 'in use');
  for (const status of [400, 403, 404, 409]) {
    refusing(status);
    await networks.removeUnused(100);
    if (status === 400)
      expect(calls.filter((call) => call.startsWith('DELETE'))).toEqual(['DELETE /networks/found']);
    engine.before = undefined;
    // It was in use just now.
    clock.ms += 99;
    await networks.removeUnused(100);
    expect(ids()).toContain('found');
    clock.ms += 1;
  }
  refusing(500);
  await expect(networks.removeUnused(100)).rejects.toThrow('in use');
  engine.before = undefined;
  await networks.removeUnused(100);
  expect(ids()).toEqual(['foreign']);
  // A network that comes again is as new.
  addNetwork({ Id: 'again', Name: second, Labels: own, Scope: 'swarm' });
  await networks.removeUnused(100);
  expect(ids()).toEqual(['foreign', 'again']);
  known.splice(0);
  calls.splice(0);
  await networks.removeUnused(100);
  expect(calls).not.toContain('GET /info');
});
