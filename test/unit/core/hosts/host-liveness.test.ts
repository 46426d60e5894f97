import { expect, test } from 'vitest';
import {
  confirmedLeaseMs,
  confirmLease,
  LEASE_MARGIN_MS,
  leaseFor,
  livenessDeadlineMs,
  markDisconnected,
  resumeTimeouts,
} from '../../../../control-plane/core/hosts/host-liveness.ts';
import type { Host } from '../../../../control-plane/core/model/host.ts';
import { explain } from '../../../../control-plane/core/views/explanation.ts';
import type { Observation } from '../../../../shared/protocol/up.ts';
import { application, service } from '../../../support/fixtures/applications.ts';
import { CoreRig, gone, hostFacts, keyOfService, named, running } from '../../../support/rigs/core-rig.ts';

const LOST_MS = 90_000;
/** From the loss until the services are queued again. */
const REQUEUED_MS = LOST_MS + LEASE_MARGIN_MS;

/** A gang with an elastic service that fills hosts of 0.2 cores; the agents keep a lease. */
function spread(hostLossPolicy: 'wait' | 'requeue' = 'requeue') {
  const rig = new CoreRig({ hostLossPolicy });
  const hosts = ['one', 'two', 'three'].map((name) => rig.hello(hostFacts(name, { cores: 0.2 })));
  for (const host of hosts) confirmLease(rig.cluster, host, leaseFor(rig.cluster));
  const gang = application(service({ total_count: 3, essential_count: 2, startup_order: 0 }));
  const execution = rig.submitInTurn(gang);
  for (const one of execution.services) rig.see(one, running);
  expect(execution.status).toBe('running');
  const disconnect = (host: Host) => {
    host.connected = false;
    markDisconnected(rig.cluster, host);
  };
  return { rig, execution, web: named(execution, 'web0'), disconnect };
}

test.each([0, 3_600_000])(
  'C103, C124: executions are queued again when lease and margin have passed since the loss, also where the clock is set forward by %i ms then',
  (forwardMs) => {
    const { rig, execution, web, disconnect } = spread();
    const host = rig.hostOf(web);
    disconnect(host);
    expect(rig.advance(LOST_MS)).toEqual([`lose-host ${host.name}`]);
    expect(web).toMatchObject({ status: 'active', backendStatus: 'undefined' });
    expect(rig.advance(forwardMs)).toEqual([]);
    expect(livenessDeadlineMs(rig.cluster, host)).toBe(rig.nowMs + REQUEUED_MS);
    expect(rig.advance(REQUEUED_MS - 1)).toEqual([]);
    expect(execution.status).toBe('running');
    expect(rig.advance(1)).toContain(`requeue-host ${host.name}`);
    expect(web.status).toBe('inactive');
  },
);
test('C103: the rest of a gang is stopped first, then all its services start anew elsewhere at once', () => {
  const { rig, execution, disconnect } = spread();
  const [web, other, elastic] = execution.services as [never, never, never];
  const lost = rig.hostOf(web);
  disconnect(lost);
  rig.advance(LOST_MS);
  const decisions = rig.advance(REQUEUED_MS);
  expect(decisions.filter((one) => one.startsWith('stop'))).toEqual(['stop web1.1', 'stop web2.1']);
  expect(execution).toMatchObject({ status: 'running', ending: { status: 'queued' } });
  rig.see(other, gone);
  rig.see(elastic, gone);
  expect(execution).toMatchObject({ status: 'starting', timeStartMs: null, attempts: 0 });
  for (const one of execution.services.filter(({ essential }) => essential)) {
    expect(one).toMatchObject({ generation: 2, status: 'starting' });
    expect(rig.hostOf(one)).not.toBe(lost);
  }
});
test('C103: an elastic service of a lost host is placed elsewhere, and its execution continues to run', () => {
  const { rig, execution, disconnect } = spread();
  const elastic = named(execution, 'web2');
  const lost = rig.hostOf(elastic);
  disconnect(lost);
  const essential = execution.services.filter((one) => one.essential);
  expect(essential.map((one) => rig.hostOf(one))).not.toContain(lost);
  rig.advance(LOST_MS);
  rig.advance(REQUEUED_MS);
  expect(execution.status).toBe('running');
  expect(essential.map(({ generation, status }) => [generation, status])).toEqual([
    [1, 'active'],
    [1, 'active'],
  ]);
  expect(elastic).toMatchObject({ generation: 2, status: 'starting' });
  expect(rig.hostOf(elastic)).not.toBe(lost);
});
test('C103: services that were to end on a lost host have ended', () => {
  const { rig, execution, web, disconnect } = spread();
  disconnect(rig.hostOf(web));
  rig.terminate(execution);
  for (const one of execution.services.slice(1)) rig.see(one, gone);
  rig.advance(LOST_MS);
  expect(execution.status).toBe('cleaning up');
  expect(rig.advance(REQUEUED_MS)).toContain(`finish ${execution.id} terminated`);
});
test('C103: a host that returns in time changes nothing, and one that returns later must stop its old starts', () => {
  const { rig, web, disconnect } = spread();
  const host = rig.hostOf(web);
  const inventory = [{ ...running, ...keyOfService(web) } as Observation];
  disconnect(host);
  rig.advance(LOST_MS);
  rig.hello(hostFacts(host.name, { cores: 0.2 }), inventory);
  expect(rig.advance(REQUEUED_MS)).toEqual([]);
  expect(web).toMatchObject({ generation: 1, status: 'active', backendStatus: 'started' });
  confirmLease(rig.cluster, host, LOST_MS);
  disconnect(host);
  rig.advance(LOST_MS);
  rig.advance(REQUEUED_MS);
  rig.join(hostFacts(host.name, { cores: 0.2 }), inventory);
  expect(web).toMatchObject({ status: 'inactive' });
});
test.each([
  ['the setting is wait', () => spread('wait')],
  [
    'the agent has confirmed no lease',
    () => {
      const one = spread();
      for (const host of one.rig.cluster.hosts.values()) host.leaseMs = null;
      return one;
    },
  ],
])('C104: if %s, the coordinator waits for a lost host without end', (_, make) => {
  const { rig, execution, web, disconnect } = make();
  disconnect(rig.hostOf(web));
  rig.advance(LOST_MS);
  expect(rig.advance(1_000 * REQUEUED_MS)).toEqual([]);
  expect(execution.status).toBe('running');
});
test('C104: a lease counts once it is confirmed; until then the longer of two leases counts', () => {
  const { cluster } = new CoreRig({ hostLossPolicy: 'requeue' });
  expect(leaseFor(cluster)).toBe(LOST_MS);
  expect(confirmedLeaseMs(LOST_MS, undefined)).toBeNull();
  expect(confirmedLeaseMs(LOST_MS, 300_000)).toBe(300_000);
  expect(confirmedLeaseMs(null, 300_000)).toBeNull();
});
test('C107: a service that its agent stopped for lack of contact has not died, and its execution starts anew', () => {
  const { rig, execution, web } = spread();
  rig.see(web, { state: 'gone', lapsed: true } as never);
  expect(execution.ending).toMatchObject({ status: 'queued', moving: true });
  expect(web).toMatchObject({ status: 'inactive', exit: null, deathsMs: [], errorMessage: null });
});
test('C106: the explanation states how long the host has been silent, and when the services start elsewhere', () => {
  const { rig, execution, web, disconnect } = spread();
  disconnect(rig.hostOf(web));
  rig.advance(30_000);
  const { waitingFor } = explain(rig.cluster, execution, rig.nowMs);
  expect(waitingFor.join()).toMatch(/has been silent for 30 s; .* to be started elsewhere in 180 s/);
});

test.each<[string, 'same' | 'another', boolean, agoMs: number | null, isKept: boolean]>([
  ['its own start, where none was recorded', 'same', false, null, false],
  ['its record', 'same', false, 80_000, true],
  // It may have woken the coordinator.
  ['its record, where its time passed within the last 10 s', 'same', false, LOST_MS + 1_000, true],
  ['its own start, where its time passed while none ran', 'same', false, LOST_MS + 20_000, false],
  ['its own start, where the lease passed while none ran', 'same', true, REQUEUED_MS + 20_000, false],
  ['its own start, where another clock may have recorded it', 'another', false, 80_000, false],
  ['its own start, where another clock counts a lease', 'another', true, REQUEUED_MS - 1_000, false],
  ['its own start, where another clock was ahead', 'another', false, -3_600_000, false],
])('C105, C257: a new coordinator counts a silence from %s', (_, clock, lost, agoMs, isKept) => {
  const { rig, web } = spread();
  const host = rig.hostOf(web);
  const recordedMs = agoMs === null ? null : rig.nowMs - agoMs;
  Object.assign(host, { connected: false, lost, silentSinceMs: recordedMs });
  rig.cluster.takeChanges();
  resumeTimeouts(rig.cluster, rig.nowMs, clock);
  expect(host.silentSinceMs).toBe(isKept ? recordedMs : rig.nowMs);
  expect(rig.cluster.changes.hosts.has(host)).toBe(!isKept);
});
