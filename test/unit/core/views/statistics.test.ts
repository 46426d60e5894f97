import { expect, test } from 'vitest';
import { schedulerSnapshotOf, schedulerSummaryOf } from '../../../../control-plane/core/views/statistics.ts';
import { application, needs, service } from '../../../support/fixtures/applications.ts';
import {
  CoreRig,
  hostFacts,
  lowDisk,
  named,
  running as seenRunning,
} from '../../../support/rigs/core-rig.ts';

const GIB = 1024 ** 3;
const of = (memoryBytes: number) => application(service({ resources: needs(memoryBytes, 1) }));

test('H158: each waiting, running or ending execution is listed once, the queue in its order, and a host with its reservations and the number of containers that should run', () => {
  const rig = new CoreRig();
  const ended = rig.submit(of(1 * GIB));
  rig.terminate(ended);
  const facts = hostFacts('host1', { labels: ['ssd'] });
  rig.hello(facts);
  const running = [rig.submit(of(4 * GIB)), rig.submit(of(1 * GIB))];
  const ending = rig.submit(of(2 * GIB));
  const waiting = [rig.submit(of(100 * GIB)), rig.submit(of(100 * GIB))];
  rig.turn();
  rig.terminate(ending);
  const { hosts, ...executions } = schedulerSnapshotOf(rig.cluster);
  expect(executions).toEqual({
    queued: waiting.map(({ id }) => id),
    running: running.map(({ id }) => id),
    cleaningUp: [ending.id],
  });
  expect(hosts).toEqual([
    {
      ...{ name: 'host1', connected: true, labels: ['ssd'], containers: 2 },
      ...{ memoryBytes: facts.memoryBytes, cores: facts.cores },
      ...{ reservedMemoryBytes: 7 * GIB, reservedCores: 3 },
    },
  ]);
});

test('H217: the summary counts waiting, starting, running and ending executions, and adds up the connected hosts', () => {
  const rig = new CoreRig();
  expect(schedulerSummaryOf(rig.cluster)).toMatchObject({
    queue: { executions: 0, oldestSubmitMs: null },
    running: { executions: 0, starting: 0, containers: 0 },
    hosts: { known: 0, memoryBytes: 0, reservedCores: 0 },
  });
  const [drained] = [rig.hello(hostFacts('host1')), rig.hello(hostFacts('host2'))];
  rig.disconnect(rig.hello(hostFacts('host3')));
  const running = rig.submit(of(4 * GIB));
  rig.submit(of(1 * GIB));
  const ending = rig.submit(of(2 * GIB));
  const oldestSubmitMs = rig.nowMs;
  rig.submitInTurn(of(100 * GIB));
  rig.see(named(running, 'web0'), seenRunning);
  rig.terminate(ending);
  drained.schedulable = false;
  rig.advance(1_000);
  rig.submitInTurn(of(100 * GIB), 2);
  expect(schedulerSummaryOf(rig.cluster)).toEqual({
    queue: { executions: 2, oldestSubmitMs },
    running: { executions: 2, starting: 1, containers: 2 },
    cleaningUp: 1,
    hosts: {
      ...{ known: 3, connected: 2, schedulable: 1 },
      ...{ memoryBytes: 16 * GIB, reservedMemoryBytes: 7 * GIB, cores: 8, reservedCores: 3 },
    },
  });
});

test('C84, H217: a host that is low on disk is connected, but does not count as schedulable', () => {
  const rig = new CoreRig();
  const host = rig.hello(hostFacts('host1'));
  host.conditions = [lowDisk];
  expect(schedulerSummaryOf(rig.cluster).hosts).toMatchObject({ connected: 1, schedulable: 0 });
  host.conditions = [{ kind: 'clock-skew', text: 'its clock is 9 s ahead' }];
  expect(schedulerSummaryOf(rig.cluster).hosts).toMatchObject({ connected: 1, schedulable: 1 });
});
