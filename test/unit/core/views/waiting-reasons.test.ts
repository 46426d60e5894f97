import { expect, test } from 'vitest';
import { WaitingReasons } from '../../../../control-plane/core/views/waiting-reasons.ts';
import { application, needs, service } from '../../../support/fixtures/applications.ts';
import { CoreRig, hostFacts } from '../../../support/rigs/core-rig.ts';

const GIB = 1024 ** 3;
const of = (memoryBytes: number) => application(service({ resources: needs(memoryBytes, 1) }));

/** A cluster with so many hosts and waiting executions; returns the ids of the latter. */
function waiting(hosts: number, executions: number) {
  const rig = new CoreRig();
  for (let n = 0; n < hosts; n++) rig.hello(hostFacts(`host${n}`));
  const ids = Array.from({ length: executions }, () => rig.submit(of(10_000 * GIB)).id);
  rig.turn();
  return { rig, ids };
}

test('W172: only queued executions have reasons, which are those of their explanation', () => {
  const { rig, ids } = waiting(1, 1);
  const running = rig.submit(of(GIB)).id;
  rig.turn();
  const [reason, ...others] = new WaitingReasons().of(rig.cluster, [...ids, running, 999], rig.nowMs);
  expect([reason?.executionId, others]).toEqual([ids[0], []]);
  expect(reason?.waitingFor.join(' ')).toContain('it would not fit even if nothing else ran');
});

test('W172: within a second 50 executions are explained, and the others of all lists afterwards', () => {
  const { rig, ids } = waiting(1, 120);
  const reasons = new WaitingReasons();
  const at = (ms: number, some = ids) => reasons.of(rig.cluster, some, rig.nowMs + ms).length;
  expect(at(0)).toBe(50);
  expect([at(1), at(2, ids.slice(50))]).toEqual([50, 0]);
  expect([at(1_000), at(1_001, ids.slice(100))]).toEqual([100, 0]);
  expect(at(2_000)).toBe(120);
});

test('W172: among 1,000 hosts 10 executions are explained in a second, and no reason is older than a minute', () => {
  const { rig, ids } = waiting(1_000, 30);
  const reasons = new WaitingReasons();
  const at = (ms: number, some = ids) => reasons.of(rig.cluster, some, rig.nowMs + ms).length;
  expect([at(0), at(900), at(1_100), at(2_200)]).toEqual([10, 10, 20, 30]);
  expect(at(62_300)).toBe(10);
});

test('W172: a clock that is set back leaves no reasons of the future', () => {
  const { rig, ids } = waiting(1, 60);
  const reasons = new WaitingReasons();
  reasons.of(rig.cluster, ids, rig.nowMs + 100_000);
  expect(reasons.of(rig.cluster, ids, rig.nowMs).length).toBe(50);
});
