import { expect, test } from 'vitest';
import { nextDeadline } from '../../../../control-plane/core/lifecycle/reconciler.ts';
import type { Execution } from '../../../../control-plane/core/model/execution.ts';
import { newHost, reportPeriodMs, spreadMs } from '../../../../control-plane/core/model/host.ts';
import { defaultSchedulerConfig } from '../../../../control-plane/core/model/scheduler-config.ts';
import type { Observation } from '../../../../shared/protocol/up.ts';
import { application, service } from '../../../support/fixtures/applications.ts';
import {
  CoreRig,
  created,
  exited,
  gone,
  hostFacts,
  keyOfService,
  named,
  pair,
  running,
  runningRig,
  startingRig,
} from '../../../support/rigs/core-rig.ts';

const LOSS_MS = defaultSchedulerConfig.lostAfterMs;

const inventoryOf = (execution: Execution, ...names: string[]): Observation[] =>
  names.map((name) => ({ ...running, ...keyOfService(named(execution, name)) }) as Observation);

test.each([
  ['three report periods and 60 s', undefined, 90_000],
  ['the configured time', { lostAfterMs: 5_000 }, 5_000],
])('P13, C110: a silent host is lost after %s, not before', (_, scheduling, lossMs) => {
  const { rig } = startingRig(pair, new CoreRig(scheduling));
  expect(nextDeadline(rig.cluster)).toBe(rig.nowMs + lossMs);
  expect(rig.advance(lossMs - 1, { silent: true })).toEqual([]);
  expect(rig.advance(1, { silent: true })).toEqual(['lose-host one']);
  expect(nextDeadline(rig.cluster)).toBeNull();
});
test('C17: a host that was registered and has never connected is lost after the same time', () => {
  const rig = new CoreRig();
  rig.cluster.addHost(newHost(7, 'never', rig.nowMs));
  expect(rig.advance(LOSS_MS - 1)).toEqual([]);
  expect(rig.advance(1)).toEqual(['lose-host never']);
});
test('C110: an agent reports nine times before its host is lost, and every 10 s at least', () => {
  expect([5_000, 9_000, 90_000, 600_000].map(reportPeriodMs)).toEqual([555, 1_000, 10_000, 10_000]);
});
test('P72: the reconnections of many agents are spread over a longer time than those of few, at most over a report period', () => {
  expect([1, 10, 200, 2_000].map((hosts) => spreadMs(hosts, 90_000))).toEqual([30, 300, 6_000, 10_000]);
  expect(spreadMs(200, 5_000)).toBe(555);
});
test('C17: a lost host gets nothing new, its services show an undefined backend_status and start nowhere else, and it continues as before with a hello', () => {
  const { rig, execution } = runningRig();
  rig.advance(LOSS_MS, { silent: true });
  expect(rig.submitInTurn().status).toBe('queued');
  rig.join(hostFacts('two'));
  for (const one of execution.services)
    expect(one).toMatchObject({ status: 'active', backendStatus: 'undefined', generation: 1 });
  expect(execution.status).toBe('running');
  const host = rig.hello(hostFacts('one'), inventoryOf(execution, 'web0', 'side0'));
  expect(rig.turn()).toEqual([]);
  expect(host.lost).toBe(false);
  expect(execution.services.map(({ backendStatus }) => backendStatus)).toEqual(['started', 'started']);
});
test('C17: when a lost host returns, its containers that did not run at the loss show their own state', () => {
  const { rig, web, side } = startingRig();
  rig.see(web, created);
  rig.see(side, running, exited(1));
  rig.advance(LOSS_MS, { silent: true });
  rig.join(hostFacts('one'), [
    { ...created, ...keyOfService(web) } as Observation,
    { ...exited(1), ...keyOfService(side) } as Observation,
  ]);
  expect([web.backendStatus, side.backendStatus]).toEqual(['created', 'dead']);
  expect(side.deathsMs).toHaveLength(1);
});
test('C14: a terminated execution waits for its lost host, which stops its services when it returns', () => {
  const { rig, execution, web } = runningRig(application(service()));
  rig.advance(LOSS_MS, { silent: true });
  rig.terminate(execution);
  expect(execution.status).toBe('cleaning up');
  expect(rig.join(hostFacts('one'), inventoryOf(execution, 'web0'))).toEqual([]);
  rig.see(web, gone);
  expect(execution.status).toBe('terminated');
});

test('C18: a container that was seen before and is missing in the hello has died, which ends the execution as error if it is that of a monitor', () => {
  const { rig, execution, side } = runningRig();
  expect(rig.join(hostFacts('one'), inventoryOf(execution, 'web0'))).toEqual(['replace-service side0.1']);
  expect(side).toMatchObject({ status: 'inactive', backendStatus: 'destroyed' });
  expect(rig.advance(1_000)).toEqual(['start side0.2']);
  const other = runningRig();
  other.rig.join(hostFacts('one'), inventoryOf(other.execution, 'side0'));
  expect(other.execution.ending?.message).toBe(
    'the container of service web0 was removed from outside Berth',
  );
});
test('P5: a container that was never seen and is missing in the hello has not died, because its start was not carried out yet', () => {
  const { rig, execution } = startingRig();
  expect(rig.join(hostFacts('one'))).toEqual([]);
  expect(execution.services.map(({ status, generation }) => [status, generation])).toEqual([
    ['starting', 1],
    ['starting', 1],
  ]);
});
test('C18: a container that was to stop and is missing in the hello is gone', () => {
  const { rig, execution } = startingRig();
  rig.terminate(execution);
  expect(rig.join(hostFacts('one'))).toEqual(['finish 1 terminated']);
});
test('C18: a hello reports what happened while the host was away', () => {
  const { rig, execution, web } = startingRig();
  rig.join(hostFacts('one'), [
    { ...exited(3), ...keyOfService(web) } as Observation,
    ...inventoryOf(execution, 'side0'),
  ]);
  expect(execution.ending?.message).toBe('service web0 ended with exit code 3');
});
test('C3, C208: a hello updates the agreed facts of its host, and waiting executions are tried again', () => {
  const { rig } = startingRig();
  const execution = rig.submitInTurn(application(service({ labels: ['gpu'] })));
  expect(execution.status).toBe('queued');
  const before = rig.cluster.hostNamed('one');
  expect(rig.hello(hostFacts('one', { labels: ['gpu'], cores: 64 }))).toBe(before);
  rig.turn();
  expect(execution.status).toBe('queued');
  if (before) rig.change(before, { accept: before.pending ?? undefined });
  expect(before).toMatchObject({ labels: ['gpu'], cores: 64, reservedCores: expect.closeTo(0.3) });
  expect(execution.status).toBe('starting');
});

test("P12: a report on another host's service, on an earlier generation or on an unknown service changes nothing", () => {
  const { rig, side } = runningRig();
  const host = rig.hostOf(side);
  const first = { ...gone, service: side.id, generation: 1 } as Observation;
  rig.report(rig.hello(hostFacts('two')), [first]);
  expect(side.status).toBe('active');
  rig.see(side, exited(1), gone);
  rig.advance(1_000);
  rig.report(host, [first]);
  expect(side).toMatchObject({ status: 'starting', generation: 2 });
  expect(rig.report(host, [{ state: 'gone', service: 99, generation: 1 }])).toEqual([]);
});
test('P7: a repeated report changes nothing', () => {
  const { rig, side } = runningRig();
  rig.see(side, exited(1));
  rig.cluster.takeChanges();
  expect(rig.see(side, exited(1))).toEqual([]);
  expect(side.deathsMs).toHaveLength(1);
  expect(rig.cluster.changes.services.size).toBe(0);
});

test('C40: after each turn the next deadline is determined and lies ahead, and reading it changes nothing', () => {
  const { rig, side } = runningRig();
  rig.see(side, exited(1), gone);
  const due = rig.nowMs + 1_000;
  expect(nextDeadline(rig.cluster)).toBe(due);
  // Read late, as after a slow commit: the deadline stays the same.
  rig.nowMs = due + 1;
  expect(nextDeadline(rig.cluster)).toBe(due);
  expect(rig.turn()).toEqual(['start side0.2']);
});
