import { expect, test } from 'vitest';
import type { Host } from '../../../../control-plane/core/model/host.ts';
import type { Condition } from '../../../../shared/protocol/up.ts';
import { application, needs, service } from '../../../support/fixtures/applications.ts';
import { CoreRig, hostFacts, lowDisk, noSecretFiles } from '../../../support/rigs/core-rig.ts';
import { draft, ENOUGH, GIB, NOT_ENOUGH, of, rigOf, waiting } from '../../../support/rigs/explanations.ts';

test('H212: the cluster has no host', () => {
  const { reasons, waitingFor, fitsWhenIdle } = waiting(new CoreRig(), application());
  expect(reasons).toMatchObject([{ instance: 'web0', filter: 'schedulable', hosts: 0, of: 0 }]);
  expect(waitingFor).toEqual([
    'The cluster has no host: start an agent on a machine to add one.',
    NOT_ENOUGH,
  ]);
  expect(fitsWhenIdle).toBe(false);
});

test('H212: hosts are drained, lost or not connected', () => {
  const rig = rigOf('one', 'two', 'three');
  const [one, two] = [...rig.cluster.hosts.values()] as [Host, Host];
  one.schedulable = false;
  rig.disconnect(two);
  rig.advance(100_000);
  const { reasons, waitingFor } = waiting(rig, of({ resources: needs(9 * GIB, 1) }));
  expect(reasons).toMatchObject([
    { filter: 'schedulable', hosts: 2, of: 3 },
    { filter: 'memory', hosts: 1, of: 1 },
  ]);
  expect(waitingFor[0]).toBe(
    '2 of 3 hosts take no new services: 1 not connected (start its agent), 1 drained (an administrator can make it schedulable again).',
  );
});

test('H802: an execution that fits only hosts that take nothing now does not read that waiting is not enough', () => {
  const later = 'It would fit if hosts that take no new services now did.';
  const states: ((rig: CoreRig, host: Host) => unknown)[] = [
    (rig, host) => rig.disconnect(host),
    (rig, host) => {
      rig.disconnect(host);
      rig.advance(100_000);
    },
    (_, host) => Object.assign(host, { schedulable: false }),
    (_, host) => Object.assign(host, { conditions: [lowDisk] }),
  ];
  for (const change of states) {
    const rig = rigOf('one');
    const [host] = [...rig.cluster.hosts.values()] as [Host];
    change(rig, host);
    const fitting = waiting(rig, of({ resources: needs(8 * GIB, 1) }));
    expect([fitting.waitingFor.at(-1), fitting.fitsWhenIdle]).toEqual([later, false]);
    expect(waiting(rig, of({ resources: needs(9 * GIB, 1) })).waitingFor.at(-1)).toBe(NOT_ENOUGH);
  }
});

test('C84: hosts that are low on disk are listed separately, with the text of their agent', () => {
  const rig = rigOf('one', 'two');
  const [one, two] = [...rig.cluster.hosts.values()] as [Host, Host];
  one.conditions = [{ kind: 'clock-skew', text: 'its clock is 9 s ahead' }, lowDisk];
  two.schedulable = false;
  two.conditions = [lowDisk];
  const { reasons, waitingFor } = waiting(rig, of({}));
  expect(reasons).toMatchObject([{ filter: 'schedulable', hosts: 2, of: 2 }]);
  expect(waitingFor[0]).toBe(
    '2 of 2 hosts take no new services: 1 drained (an administrator can make it schedulable again), 1 low on disk (0.4 GiB free at /var/lib/docker).',
  );
  two.schedulable = true;
  expect(waiting(rig, of({})).waitingFor[0]).toBe(
    '2 of 2 hosts take no new services: 2 low on disk (for example: 0.4 GiB free at /var/lib/docker).',
  );
  two.conditions = [{ kind: 'no-engine', text: 'connect ECONNREFUSED' }];
  expect(waiting(rig, of({})).waitingFor[0]).toBe(
    '2 of 2 hosts take no new services: 1 low on disk (0.4 GiB free at /var/lib/docker), 1 without a responding engine (connect ECONNREFUSED).',
  );
});

test('H212: no host has a label, or only some have it', () => {
  const rig = rigOf('one');
  rig.hello(hostFacts('two', { labels: ['ssd'] }));
  const none = waiting(rig, of({ labels: ['ssd', 'gpu'] }));
  expect(none.reasons).toMatchObject([{ filter: 'labels', hosts: 2, of: 2, labels: ['gpu'] }]);
  expect(none.waitingFor[0]).toBe(
    'web0 needs the label gpu, but no host has this label: an administrator can add it to a host, or to BERTH_AGENT_LABELS of its agent.',
  );
  const some = waiting(rig, of({ labels: ['ssd'], resources: needs(9 * GIB, 1) }));
  expect(some.waitingFor).toEqual([
    'web0 needs the label ssd, but only 1 of 2 usable hosts has this label.',
    'web0 needs 9.0 GiB of memory, but two, the best fit, has 8.0 GiB free: 1.0 GiB short. It has only 8.0 GiB in all: request less, or add a larger host.',
    NOT_ENOUGH,
  ]);
  rig.hello(hostFacts('three', { labels: ['gpu'] }));
  expect(draft(rig, of({ labels: ['ssd', 'gpu'] })).waitingFor[0]).toBe(
    'web0 needs the labels ssd and gpu, but no host has all of these labels: an administrator can add them to a host, or to BERTH_AGENT_LABELS of its agent.',
  );
  const { hosts } = rig.cluster;
  for (const host of hosts.values()) host.schedulable = !host.labels.includes('gpu');
  expect(draft(rig, of({ labels: ['gpu'] })).waitingFor[1]).toBe(
    'web0 needs the label gpu, but no usable host has this label: an administrator can add it to a host, or to BERTH_AGENT_LABELS of its agent.',
  );
});

test('C342, H212: a service with files that have secrets waits for a host that mounts them, and starts once there is one', () => {
  const rig = rigOf('one', 'two');
  const [one, two] = [...rig.cluster.hosts.values()] as [Host, Host];
  const setConditions = (host: Host, ...conditions: Condition[]) => {
    host.conditions = conditions;
    rig.cluster.changes.conditions.add(host);
  };
  const files = [{ name: 'key', path: '/etc/key' }];
  setConditions(one, noSecretFiles);
  rig.turn();
  expect(draft(rig, of({ files, total_count: 2, essential_count: 2 })).placement).toMatchObject([
    { host: 'two' },
  ]);
  setConditions(two, noSecretFiles);
  const described = of({ files, resources: needs(GIB, 1) });
  const { reasons, waitingFor } = waiting(rig, described);
  expect(reasons).toMatchObject([{ filter: 'secret-files', hosts: 2, of: 2 }]);
  expect(waitingFor).toEqual([
    'web0 has files with secrets, which 2 of 2 usable hosts do not mount (for example, one: its folder is on a disk).',
    NOT_ENOUGH,
  ]);
  const execution = rig.submit(described);
  expect(execution.status).toBe('queued');
  setConditions(two);
  rig.turn();
  expect(execution.services.map((service) => rig.hostOf(service).name)).toEqual(['two']);
});

test('H212: memory is compared with the best-fitting host', () => {
  const rig = rigOf('one', 'two');
  rig.submit(of({ total_count: 2, essential_count: 2, resources: needs(5 * GIB, 1) }));
  rig.submit(of({ resources: needs(GIB, 1) }));
  const { reasons, waitingFor, fitsWhenIdle } = waiting(rig, of({ resources: needs(4 * GIB, 1) }));
  expect(reasons).toMatchObject([
    { filter: 'memory', hosts: 2, of: 2, missing: GIB, largest: 8 * GIB, instance: 'web0', instances: 1 },
  ]);
  expect(waitingFor).toEqual([
    'web0 needs 4.0 GiB of memory, but two, the best fit of 2 hosts, has 3.0 GiB free: 1.0 GiB short.',
    ENOUGH,
  ]);
  expect(fitsWhenIdle).toBe(true);
});

test('H212: cores are reported even if memory is short as well', () => {
  const rig = rigOf('one');
  rig.submit(of({ resources: needs(7 * GIB, 2.7) }));
  const { reasons, waitingFor } = waiting(rig, of({ resources: needs(1.5 * GIB, 2) }));
  expect(reasons).toMatchObject([
    { filter: 'memory', hosts: 1, missing: GIB / 2 },
    { filter: 'cores', hosts: 1, of: 1, missing: 0.7, largest: 4 },
  ]);
  expect(waitingFor.slice(0, 2)).toEqual([
    'web0 needs 1.5 GiB of memory, but one, the best fit, has 1.0 GiB free: 512.0 MiB short.',
    'web0 needs 2 cores, but one, the best fit, has 1.3 cores free: 0.7 cores short.',
  ]);
});

test('H212: instances with the same demand share a reason, which counts those that do find a host', () => {
  const rig = rigOf('one');
  const gang = application(
    service({ total_count: 6, essential_count: 5, resources: needs(3 * GIB, 0.1) }),
    service({ name: 'other', monitor: false, resources: needs(3 * GIB, 0.1) }),
  );
  const { reasons, waitingFor } = waiting(rig, gang);
  expect(reasons).toMatchObject([{ filter: 'memory', instance: 'web2', instances: 4, missing: GIB }]);
  expect(waitingFor[0]).toBe(
    'web2 and 3 more like it need 3.0 GiB of memory each, but one, the best fit, has 2.0 GiB free once 2 other services of the execution are placed: 1.0 GiB short.',
  );
});

test('H219: a thousand instances on many hosts give a short answer', () => {
  const rig = rigOf(...Array.from({ length: 50 }, (_, nth) => `host${nth}`));
  const large = of({ total_count: 1_000, essential_count: 1_000, resources: needs(3 * GIB, 1) });
  const answer = waiting(rig, large);
  expect(answer.reasons).toMatchObject([{ filter: 'memory', hosts: 50, instances: 900 }]);
  expect(JSON.stringify(answer).length).toBeLessThan(2_000);
});

test('H219: the ten largest of many demands that find no host are reported', () => {
  const rig = rigOf('one');
  const groups = Array.from({ length: 30 }, (_, nth) =>
    service({ name: `app${nth}`, resources: needs((10 + nth) * GIB, 1) }),
  );
  const { reasons, placement } = waiting(rig, application(...groups));
  expect(reasons.map(({ instance }) => instance)).toEqual(groups.slice(20).map(({ name }) => `${name}0`));
  expect(placement).toBeNull();
});
