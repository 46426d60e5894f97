import { expect, test } from 'vitest';
import { clusterFamilies, clusterLimits } from '../../../../control-plane/core/metrics/cluster-families.ts';
import { CoordinatorCounts } from '../../../../control-plane/core/metrics/coordinator-counts.ts';
import { metricsText } from '../../../../control-plane/core/metrics/family.ts';
import { application, needs, service } from '../../../support/fixtures/applications.ts';
import { CoreRig, hostFacts, lowDisk, running } from '../../../support/rigs/core-rig.ts';

const GIB = 1024 ** 3;
const of = (memoryBytes: number) => application(service({ resources: needs(memoryBytes, 1) }));
const linesOf = ({ cluster, nowMs }: CoreRig, maxHosts = 10) =>
  metricsText(clusterFamilies(cluster, nowMs, maxHosts)).split('\n');

test('H452: the metrics have executions by state, the age of the queue, and hosts with what they offer, reserve and use', () => {
  const rig = new CoreRig();
  const host = rig.hello(hostFacts('host1'));
  rig.disconnect(rig.hello(hostFacts('host2')));
  const [one] = rig.submit(of(2 * GIB)).services;
  rig.submitInTurn(of(100 * GIB));
  if (one) rig.see(one, running);
  host.usage = { memoryBytes: GIB, cores: 0.25 };
  rig.nowMs += 90_000;
  const lines = linesOf(rig);
  for (const line of [
    'berth_executions{state="queued"} 1',
    'berth_executions{state="starting"} 0',
    'berth_executions{state="running"} 1',
    'berth_executions{state="cleaning_up"} 0',
    'berth_queue_oldest_age_seconds 90',
    'berth_containers 1',
    'berth_hosts{state="ready"} 1',
    'berth_hosts{state="disconnected"} 1',
    `berth_memory_bytes ${8 * GIB}`,
    `berth_memory_reserved_bytes ${2 * GIB}`,
    `berth_memory_used_bytes ${GIB}`,
    'berth_cores_used 0.25',
    'berth_host_up{host="host2"} 0',
    `berth_host_memory_used_bytes{host="host1"} ${GIB}`,
    'berth_host_cores_reserved{host="host1"} 1',
    'berth_host_containers{host="host1"} 1',
    'berth_hosts_omitted 0',
  ])
    expect(lines).toContain(line);
  // Nothing is known of a host without an agent.
  expect(lines.filter((line) => /_used.*host2/.test(line))).toEqual([]);
});

test('H453: hosts beyond BERTH_LIMITS.metricsHosts have no metrics of their own, and count in the totals, and a condition of a kind that is not known counts as other', () => {
  const rig = new CoreRig();
  for (let at = 1; at <= 5; at++) rig.hello(hostFacts(`host${at}`));
  const lines = linesOf(rig, 2);
  expect(lines.filter((line) => line.startsWith('berth_host_up'))).toHaveLength(2);
  expect(lines).toContain('berth_hosts_omitted 3');
  expect(lines).toContain('berth_hosts{state="ready"} 5');
  const one = new CoreRig();
  const host = one.hello(hostFacts('host1'));
  host.conditions = [lowDisk, lowDisk, { kind: 'x1', text: '' }, { kind: 'x2', text: '' }];
  expect(linesOf(one).filter((line) => line.startsWith('berth_host_condition{'))).toEqual([
    'berth_host_condition{host="host1",kind="low-disk"} 1',
    'berth_host_condition{host="host1",kind="other"} 1',
  ]);
});

test('H452: each bound has its setting, its limit and how much of it is used', () => {
  const rig = new CoreRig();
  rig.hello(hostFacts('host1'));
  rig.submit(of(1 * GIB));
  rig.submitInTurn(of(100 * GIB));
  const { bounds } = rig.cluster.schedulerConfig;
  expect(clusterLimits(rig.cluster)).toMatchObject([
    { setting: 'BERTH_LIMITS.waiting', used: 1, limit: bounds.waiting },
    { name: 'waiting_with_reserve', used: 1 },
    { setting: 'BERTH_LIMITS.waitingPerUser', used: 1, limit: bounds.waitingPerUser },
    { setting: 'BERTH_LIMITS.waitingBytesPerUser', unit: 'bytes', limit: bounds.waitingBytesPerUser },
    { setting: 'BERTH_LIMITS.placedInstances', used: 1, limit: bounds.placedInstances },
    { setting: 'BERTH_LIMITS.unprovenIds', used: 0, limit: bounds.unprovenIds },
  ]);
});

test('H452: decisions are counted by kind, and placements by service', () => {
  const rig = new CoreRig();
  rig.hello(hostFacts('host1'));
  rig.submit(application(service({ name: 'a' }), service({ name: 'b' })));
  const counts = new CoordinatorCounts();
  rig.turn();
  counts.decided(rig.decisions);
  const text = metricsText(counts.families());
  expect(text).toContain('berth_decisions_total{kind="place"} 1\n');
  expect(text).toContain('berth_decisions_total{kind="start"} 2\n');
  expect(text).toContain('berth_placements_total 2\n');
});
