import { expect, test } from 'vitest';
import { removalBlocker } from '../../../../control-plane/core/hosts/host-removal.ts';
import type { Host } from '../../../../control-plane/core/model/host.ts';
import { type CoreRig, gone, hostFacts, named, queuedIds, quota } from '../../../support/rigs/core-rig.ts';
import { FORCE, hostsOf, MOVES, mixed, rigWith, run } from '../../../support/rigs/drains.ts';

test('C93: the containers of a removed host count as gone, and its executions start elsewhere at once', () => {
  const { rig, hosts } = rigWith(4, 4);
  const execution = run(rig);
  rig.disconnect(hosts[0]);
  expect(rig.removeHost(hosts[0])).toEqual(MOVES);
  expect(execution).toMatchObject({ attempts: 0, timeStartMs: null });
  expect([...rig.cluster.hosts.keys()]).toEqual([2]);
});
test('C93: services on other hosts are stopped before their execution returns to the queue', () => {
  const { rig, hosts } = rigWith(1, 4);
  const execution = run(rig);
  rig.disconnect(hosts[0]);
  expect(rig.removeHost(hosts[0])).toEqual(['stop side0.1']);
  expect(rig.see(named(execution, 'side0'), gone)).toEqual(MOVES);
});
test('C93: elastic services of a removed host are placed elsewhere, and their executions continue to run', () => {
  const { rig, hosts } = rigWith(2, 4);
  const execution = run(rig, mixed(2));
  expect(hostsOf(rig, execution)).toEqual(['host0', 'host0', 'host1', 'host1']);
  rig.disconnect(hosts[1]);
  const third = rig.hello(hostFacts('host2'));
  rig.turn();
  expect(rig.removeHost(hosts[1])).toEqual([
    'place work0@host2',
    'place work1@host2',
    'start work0.2',
    'start work1.2',
  ]);
  expect(third.reservedCores).toBe(2);
  expect(execution).toMatchObject({ status: 'running' });
  expect(named(execution, 'work0')).toMatchObject({ deathsMs: [], errorMessage: null });
});
test('C93: a removed host delays no end and no deletion, because services that were to stop there have stopped, and its logs are gone', () => {
  const { rig, hosts } = rigWith(4);
  const execution = run(rig);
  const deleted = run(rig);
  rig.remove(deleted);
  for (const one of deleted.services) rig.see(one, gone);
  rig.disconnect(hosts[0]);
  rig.terminate(execution);
  expect(rig.removeHost(hosts[0])).toEqual(['finish 1 terminated', 'purge 2']);
  expect(rig.cluster.usage(1)).toEqual({ executions: 0, memoryBytes: 0, microCores: 0 });
});
test('C93: a backfill reservation on a removed host moves to another host', () => {
  const { rig, hosts } = rigWith(2, 2);
  rig.cluster.setQuota(quota(2, { cores: 1 }));
  rig.submit(mixed(), 2);
  run(rig);
  run(rig);
  rig.cluster.setQuota(quota(2));
  rig.advance(0);
  rig.advance(86_400_000);
  const reserved = rig.cluster.reservation?.placements[0]?.host;
  expect(reserved?.backfillReservedCores).toBe(2);
  const [remaining] = hosts.filter((host) => host !== reserved);
  rig.disconnect(reserved as Host);
  rig.removeHost(reserved as Host);
  expect(remaining?.backfillReservedCores).toBe(2);
  expect(queuedIds(rig.cluster)).toHaveLength(2);
});
test('C93: a removed host may join again under its name as another host', () => {
  const { rig, hosts } = rigWith(4);
  const execution = run(rig);
  rig.disconnect(hosts[0]);
  rig.removeHost(hosts[0]);
  expect(execution.status).toBe('queued');
  const again = rig.hello(hostFacts('host0'));
  expect(again.id).toBe(2);
  expect(rig.turn()).toEqual(['place main0@host0 side0@host0', 'start main0.2', 'start side0.2']);
});

const blockerOf = (rig: CoreRig, host: Host, force = false) => removalBlocker(rig.cluster, host, force);

test('C94: a connected host with services is not removed, even by force', () => {
  const { rig, hosts } = rigWith(4);
  const execution = run(rig);
  for (const force of [false, true])
    expect(blockerOf(rig, hosts[0], force)).toContain('Host host0 has 2 services and is connected');
  rig.change(hosts[0], FORCE);
  expect(blockerOf(rig, hosts[0])).toContain('2 services');
  for (const one of execution.services) rig.see(one, gone);
  expect(blockerOf(rig, hosts[0])).toBeNull();
});
test('C94: a disconnected host with services is removed before its loss only by force, and one without services always', () => {
  const { rig, hosts } = rigWith(4, 4);
  run(rig);
  rig.disconnect(hosts[0]);
  expect(blockerOf(rig, hosts[0])).toContain('?force=true');
  expect(blockerOf(rig, hosts[0], true)).toBeNull();
  rig.advance(rig.cluster.schedulerConfig.lostAfterMs, { silent: true });
  expect(blockerOf(rig, hosts[0])).toBeNull();
  expect(blockerOf(rig, hosts[1])).toBeNull();
  rig.disconnect(hosts[1]);
  expect(blockerOf(rig, hosts[1])).toBeNull();
});
