import { describe, expect, test } from 'vitest';
import type { HostChanges } from '../../../../control-plane/core/hosts/drain.ts';
import { removalBlocker } from '../../../../control-plane/core/hosts/host-removal.ts';
import type { Execution } from '../../../../control-plane/core/model/execution.ts';
import type { Host } from '../../../../control-plane/core/model/host.ts';
import { explain } from '../../../../control-plane/core/views/explanation.ts';
import { application, needs, service } from '../../../support/fixtures/applications.ts';
import {
  CoreRig,
  decisionTexts,
  exited,
  failed,
  gone,
  hostFacts,
  named,
  queuedIds,
  quota,
  running,
} from '../../../support/rigs/core-rig.ts';

const DRAIN: HostChanges = { schedulable: false };
const FORCE: HostChanges = { schedulable: false, force: true };
const BACK: HostChanges = { schedulable: true };

/** A monitor and a side service of one core each, and elastic workers of one core each. */
const mixed = (workers = 0) =>
  application(
    service({ name: 'main', resources: needs(null, 1) }),
    service({ name: 'side', monitor: false, resources: needs(null, 1) }),
    ...(workers > 0
      ? [
          service({
            name: 'work',
            monitor: false,
            total_count: workers,
            essential_count: 0,
            resources: needs(null, 1),
          }),
        ]
      : []),
  );

function rigWith(...cores: number[]): { rig: CoreRig; hosts: Host[] } {
  const rig = new CoreRig({ placementPolicy: 'waterfill' });
  const hosts = cores.map((each, at) => rig.hello(hostFacts(`host${at}`, { cores: each })));
  rig.turn();
  return { rig, hosts };
}

/** Submits an execution, and reports everything that is placed of it as running. */
function run(rig: CoreRig, description = mixed()): Execution {
  const execution = rig.submit(description);
  rig.turn();
  for (let round = 0; round < 2; round++) {
    for (const one of execution.services) if (one.status === 'starting') rig.see(one, running);
  }
  expect(execution.status).toBe('running');
  return execution;
}
const hostsOf = (rig: CoreRig, { services }: Execution) =>
  services.map((one) => (one.placed ? rig.hostOf(one).name : null));

describe('C90: a drained host', () => {
  test('C90: a drained host takes nothing new until it is schedulable again, and then takes waiting executions at once', () => {
    const { rig, hosts } = rigWith(4);
    rig.change(hosts[0] as Host, DRAIN);
    const execution = rig.submit(mixed());
    expect(rig.turn()).toEqual([]);
    expect(decisionTexts(rig.change(hosts[0] as Host, BACK))).toEqual([
      'place main0@host0 side0@host0',
      'start main0.1',
      'start side0.1',
    ]);
    expect(execution.status).toBe('starting');
  });
  test('C90: elastic services leave a drained host at once, and start elsewhere when their containers are gone', () => {
    const { rig, hosts } = rigWith(4, 5);
    const execution = run(rig, mixed(2));
    const [work0, work1] = [named(execution, 'work0'), named(execution, 'work1')];
    expect(hostsOf(rig, execution)).toEqual(['host0', 'host0', 'host0', 'host0']);
    expect(decisionTexts(rig.change(hosts[0] as Host, DRAIN))).toEqual([
      'evict work0.1',
      'stop work0.1',
      'evict work1.1',
      'stop work1.1',
    ]);
    rig.see(work0, exited(137));
    expect(decisionTexts(rig.see(work0, gone))).toEqual(['place work0@host1', 'start work0.2']);
    expect(decisionTexts(rig.see(work1, gone))).toEqual(['place work1@host1', 'start work1.2']);
    expect(work0).toMatchObject({ exit: null, errorMessage: null, deathsMs: [] });
    expect(execution.status).toBe('running');
  });
  test('C90: elastic services leave a drained host even if no other host has capacity for them', () => {
    const { rig, hosts } = rigWith(3);
    const execution = run(rig, mixed(1));
    expect(decisionTexts(rig.change(hosts[0] as Host, DRAIN))).toEqual(['evict work0.1', 'stop work0.1']);
    expect(explain(rig.cluster, execution, rig.nowMs).waitingFor[0]).toBe(
      'work0: leaving host host0, which is drained.',
    );
    rig.see(named(execution, 'work0'), gone);
    expect(hostsOf(rig, execution)).toEqual(['host0', 'host0', null]);
    expect(execution.status).toBe('running');
  });
  test('C90: an elastic service that died on a drained host starts elsewhere after its delay', () => {
    const { rig, hosts } = rigWith(3, 3);
    const execution = run(rig, mixed(1));
    const work = named(execution, 'work0');
    rig.see(work, exited(1));
    rig.change(hosts[0] as Host, DRAIN);
    rig.see(work, gone);
    expect(decisionTexts(rig.advance(1_000))).toEqual(['place work0@host1', 'start work0.2']);
    expect(work.deathsMs).toHaveLength(1);
  });
  test('C91: a drained host keeps its essential services, including those not started yet or restarted after a death', () => {
    const { rig, hosts } = rigWith(4, 4);
    const ordered = application(
      service({ name: 'main', startup_order: 2 }),
      service({ name: 'side', monitor: false }),
    );
    const execution = rig.submit(ordered);
    rig.turn();
    expect(rig.change(hosts[0] as Host, DRAIN)).toEqual([]);
    const side = named(execution, 'side0');
    expect(decisionTexts(rig.see(side, running))).toEqual(['start main0.1']);
    rig.see(named(execution, 'main0'), running);
    rig.see(side, exited(1));
    rig.see(side, gone);
    expect(decisionTexts(rig.advance(1_000))).toEqual(['start side0.2']);
    expect(hostsOf(rig, execution)).toEqual(['host0', 'host0']);
  });
  test('C91: a start that fails temporarily on a drained host is tried again elsewhere', () => {
    const { rig, hosts } = rigWith(4, 4);
    const execution = rig.submit(mixed());
    rig.turn();
    rig.change(hosts[0] as Host, DRAIN);
    rig.see(named(execution, 'main0'), failed(true));
    for (const one of execution.services) rig.see(one, gone);
    rig.advance(1_000);
    expect(hostsOf(rig, execution)).toEqual(['host1', 'host1']);
  });
});

describe('C92: a host drained by force', () => {
  test('C92: executions on a host drained by force return to the queue when all their containers are gone, and start elsewhere at once', () => {
    const { rig, hosts } = rigWith(4, 4);
    const execution = run(rig);
    expect(decisionTexts(rig.change(hosts[0] as Host, FORCE))).toEqual(['stop main0.1', 'stop side0.1']);
    expect(execution.status).toBe('running');
    expect(explain(rig.cluster, execution, rig.nowMs).summary).toBe(
      'It moves (host host0 is drained): it goes back to the queue when its containers are gone.',
    );
    rig.see(named(execution, 'main0'), exited(143));
    expect(rig.see(named(execution, 'main0'), gone)).toEqual([]);
    expect(decisionTexts(rig.see(named(execution, 'side0'), gone))).toEqual([
      'finish 1 queued',
      'place main0@host1 side0@host1',
      'start main0.2',
      'start side0.2',
    ]);
    expect(execution).toMatchObject({ status: 'starting', attempts: 0, timeStartMs: null, ending: null });
    for (const one of execution.services) rig.see(one, running);
    expect(execution).toMatchObject({ status: 'running', timeStartMs: rig.nowMs });
  });
  test('C92: executions on a host drained by force wait in their old place if no other host has capacity, without a delay', () => {
    const { rig, hosts } = rigWith(2);
    const execution = run(rig);
    const later = rig.submit(mixed());
    rig.change(hosts[0] as Host, FORCE);
    for (const one of execution.services) rig.see(one, gone);
    expect(queuedIds(rig.cluster)).toEqual([execution.id, later.id]);
    expect(execution).toMatchObject({ status: 'queued', retryAtMs: null, errorMessage: null });
    rig.change(hosts[0] as Host, BACK);
    expect([execution.status, later.status]).toEqual(['starting', 'queued']);
  });
  test('C92: the services of a moved execution on other hosts move with it, and executions without services on the drained host stay', () => {
    const { rig, hosts } = rigWith(1, 4);
    const spread = run(rig);
    const other = run(rig);
    expect(hostsOf(rig, spread)).toEqual(['host0', 'host1']);
    expect(decisionTexts(rig.change(hosts[0] as Host, FORCE))).toEqual(['stop main0.1', 'stop side0.1']);
    expect(other.ending).toBeNull();
  });
  test('C92: an end decided before stays, and a termination ends an execution that is moving', () => {
    const { rig, hosts } = rigWith(8);
    const [ending, moving] = [run(rig), run(rig)];
    rig.terminate(ending);
    rig.change(hosts[0] as Host, FORCE);
    rig.terminate(moving);
    for (const execution of [ending, moving]) {
      for (const one of execution.services) rig.see(one, gone);
      expect(execution.status).toBe('terminated');
    }
  });
});

describe('C93: a removed host', () => {
  test('C93: the containers of a removed host count as gone, and its executions start elsewhere at once', () => {
    const { rig, hosts } = rigWith(4, 4);
    const execution = run(rig);
    rig.disconnect(hosts[0] as Host);
    expect(decisionTexts(rig.removeHost(hosts[0] as Host))).toEqual([
      'finish 1 queued',
      'place main0@host1 side0@host1',
      'start main0.2',
      'start side0.2',
    ]);
    expect(execution).toMatchObject({ attempts: 0, timeStartMs: null });
    expect([...rig.cluster.hosts.keys()]).toEqual([2]);
  });
  test('C93: services on other hosts are stopped before their execution returns to the queue', () => {
    const { rig, hosts } = rigWith(1, 4);
    const execution = run(rig);
    rig.disconnect(hosts[0] as Host);
    expect(decisionTexts(rig.removeHost(hosts[0] as Host))).toEqual(['stop side0.1']);
    expect(decisionTexts(rig.see(named(execution, 'side0'), gone))).toEqual([
      'finish 1 queued',
      'place main0@host1 side0@host1',
      'start main0.2',
      'start side0.2',
    ]);
  });
  test('C93: elastic services of a removed host are placed elsewhere, and their executions continue to run', () => {
    const { rig, hosts } = rigWith(2, 4);
    const execution = run(rig, mixed(2));
    expect(hostsOf(rig, execution)).toEqual(['host0', 'host0', 'host1', 'host1']);
    rig.disconnect(hosts[1] as Host);
    const third = rig.hello(hostFacts('host2'));
    rig.turn();
    expect(decisionTexts(rig.removeHost(hosts[1] as Host))).toEqual([
      'place work0@host2',
      'place work1@host2',
      'start work0.2',
      'start work1.2',
    ]);
    expect(third.reservedCores).toBe(2);
    expect(execution).toMatchObject({ status: 'running' });
    expect(named(execution, 'work0')).toMatchObject({ deathsMs: [], errorMessage: null });
  });
  test('C93: a removed host delays no end, because services that were to stop there have stopped', () => {
    const { rig, hosts } = rigWith(4);
    const execution = run(rig);
    rig.disconnect(hosts[0] as Host);
    rig.terminate(execution);
    expect(decisionTexts(rig.removeHost(hosts[0] as Host))).toEqual(['finish 1 terminated']);
    expect(rig.cluster.usage(1)).toEqual({ executions: 0, memoryBytes: 0, microCores: 0 });
  });
  test('C93: a removed host delays no deletion, because its logs are gone', () => {
    const { rig, hosts } = rigWith(4);
    const execution = run(rig);
    rig.remove(execution);
    for (const one of execution.services) rig.see(one, gone);
    rig.disconnect(hosts[0] as Host);
    expect(decisionTexts(rig.removeHost(hosts[0] as Host))).toEqual(['purge 1']);
  });
  test('C93: a backfill reservation on a removed host moves to another host', () => {
    const { rig, hosts } = rigWith(2, 2);
    rig.cluster.setQuota(quota(2, { cores: 1 }));
    rig.submit(mixed(), 2);
    run(rig);
    run(rig);
    rig.cluster.setQuota(quota(2));
    rig.advance(0);
    rig.advance(600_000);
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
    rig.disconnect(hosts[0] as Host);
    rig.removeHost(hosts[0] as Host);
    expect(execution.status).toBe('queued');
    const again = rig.hello(hostFacts('host0'));
    expect(again.id).toBe(2);
    expect(decisionTexts(rig.turn())).toEqual([
      'place main0@host0 side0@host0',
      'start main0.2',
      'start side0.2',
    ]);
  });
});

describe('C94: refused removals', () => {
  const blockerOf = (rig: CoreRig, host: Host | undefined, force = false) =>
    removalBlocker(rig.cluster, host as Host, force);

  test('C94: a connected host with services is not removed, even by force', () => {
    const { rig, hosts } = rigWith(4);
    const execution = run(rig);
    for (const force of [false, true])
      expect(blockerOf(rig, hosts[0], force)).toContain('Host host0 has 2 services and is connected');
    rig.change(hosts[0] as Host, FORCE);
    expect(blockerOf(rig, hosts[0])).toContain('2 services');
    for (const one of execution.services) rig.see(one, gone);
    expect(blockerOf(rig, hosts[0])).toBeNull();
  });
  test('C94: a disconnected host with services is removed before its loss only by force', () => {
    const { rig, hosts } = rigWith(4);
    run(rig);
    rig.disconnect(hosts[0] as Host);
    expect(blockerOf(rig, hosts[0])).toContain('?force=true');
    expect(blockerOf(rig, hosts[0], true)).toBeNull();
    rig.advance(rig.cluster.schedulerConfig.lostAfterMs, { silent: true });
    expect(blockerOf(rig, hosts[0])).toBeNull();
  });
  test('C94: a host without services may always be removed', () => {
    const { rig, hosts } = rigWith(4, 4);
    expect(blockerOf(rig, hosts[0])).toBeNull();
    rig.disconnect(hosts[1] as Host);
    expect(blockerOf(rig, hosts[1])).toBeNull();
  });
});

describe('C95: labels given by an administrator', () => {
  const requiring = (label: string) => application(service({ labels: [label] }));

  test("C95: an administrator's labels count beside the agent's, at once for waiting executions", () => {
    const rig = new CoreRig();
    const host = rig.hello(hostFacts('one', { labels: ['ssd'] }));
    const execution = rig.submit(requiring('gpu'));
    expect(rig.turn()).toEqual([]);
    expect(decisionTexts(rig.change(host, { labels: ['gpu', 'ssd'] }))).toEqual([
      'place web0@one',
      'start web0.1',
    ]);
    expect(host.labels).toEqual(['ssd', 'gpu']);
    expect(execution.status).toBe('starting');
  });
  test("C95: an administrator's labels survive a hello, and the agent's labels survive the removal of the administrator's", () => {
    const rig = new CoreRig();
    const host = rig.hello(hostFacts('one', { labels: ['ssd'] }));
    rig.change(host, { labels: ['gpu', 'ssd'] });
    rig.hello(hostFacts('one', { labels: ['ssd', 'new'] }));
    rig.change(host, { accept: host.pending ?? undefined });
    expect(host.labels).toEqual(['ssd', 'new', 'gpu']);
    rig.change(host, { labels: [] });
    expect(host.labels).toEqual(['ssd', 'new']);
  });
  test('C95: the removal of a label stops nothing', () => {
    const rig = new CoreRig();
    const host = rig.hello(hostFacts('one'));
    rig.change(host, { labels: ['gpu'] });
    const execution = run(rig, requiring('gpu'));
    expect(rig.change(host, { labels: [] })).toEqual([]);
    expect(execution.status).toBe('running');
    expect(rig.submit(requiring('gpu')).status).toBe('queued');
    expect(rig.turn()).toEqual([]);
  });
});
