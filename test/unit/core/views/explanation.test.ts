import { describe, expect, test } from 'vitest';
import type { Execution } from '../../../../control-plane/core/model/execution.ts';
import { defaultSchedulerConfig } from '../../../../control-plane/core/model/scheduler-config.ts';
import {
  type Explanation,
  explain,
  explainEnd,
  explainSubmission,
} from '../../../../control-plane/core/views/explanation.ts';
import type { Application, ServiceDescription } from '../../../../shared/application-schema.ts';
import { application, needs, service } from '../../../support/fixtures/applications.ts';
import {
  CoreRig,
  created,
  exited,
  failed,
  gone,
  hostFacts,
  loadedExecution,
  lowDisk,
  named,
  quota,
  running,
} from '../../../support/rigs/core-rig.ts';

const GIB = 1024 ** 3;
const of = (changes: Partial<ServiceDescription>) => application(service(changes));

/** A rig with hosts of 8 GiB and 4 cores each. */
function rigOf(...names: string[]): CoreRig {
  const rig = new CoreRig();
  for (const name of names) rig.hello(hostFacts(name));
  rig.turn();
  return rig;
}

const explained = (rig: CoreRig, execution: Execution) => explain(rig.cluster, execution, rig.nowMs);

/** The explanation of a submitted application that is not placed. */
function waiting(rig: CoreRig, described: Application): Explanation {
  const execution = rig.submit(described);
  rig.turn();
  return explained(rig, execution);
}

const draft = (rig: CoreRig, described: Application): Explanation => {
  rig.turn();
  const submission = { userId: 1, name: 'draft', application: described, description: '' };
  return explainSubmission(
    rig.cluster,
    loadedExecution({ ...rig.cluster.nextIds }, submission, rig.nowMs),
    rig.nowMs,
  );
};

const NOT_ENOUGH = 'Waiting alone is not enough: it would not fit even if nothing else ran.';
const ENOUGH = 'Waiting is enough: it fits when enough running services have ended.';

describe('H212: why no host takes a service', () => {
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
    const [one, two] = [...rig.cluster.hosts.values()];
    if (!one || !two) throw new Error('no hosts');
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

  test('C84: hosts that are low on disk are listed separately, with the text of their agent', () => {
    const rig = rigOf('one', 'two');
    const [one, two] = [...rig.cluster.hosts.values()];
    if (!one || !two) throw new Error('no hosts');
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

describe('H213: a quota or a retry delays a start', () => {
  test('H213: each exceeded cap is explained, with what would change that', () => {
    const rig = rigOf('one');
    rig.submit(of({ resources: needs(3 * GIB, 1) }));
    rig.turn();
    rig.cluster.setQuota(quota(1, { concurrentExecutions: 1, memoryBytes: 4 * GIB, cores: 3 }));
    const { reasons, quota: caps, waitingFor } = waiting(rig, of({ resources: needs(2 * GIB, 3.5) }));
    expect(reasons).toMatchObject([{ filter: 'cores', missing: 0.5 }]);
    expect(caps).toMatchObject([
      { dimension: 'executions', limit: 1, used: 1, wanted: 1, over: 1 },
      { dimension: 'memory', limit: 4 * GIB, used: 3 * GIB, wanted: 2 * GIB, over: GIB },
      { dimension: 'cores', limit: 3, used: 1, wanted: 3.5, over: 1.5 },
    ]);
    const later = "it starts when enough of the user's executions have ended, or when the quota is raised";
    expect(waitingFor.slice(0, 3)).toEqual([
      `The user's quota allows 1 execution at a time, of which 1 is in use: ${later}.`,
      `The user's quota allows 4.0 GiB of memory at a time, of which the limits of running services take 3.0 GiB; the limits of this start, 2.0 GiB, would exceed it by 1.0 GiB: ${later}.`,
      "The user's quota allows 3 cores at a time, of which 1 core is reserved; 3.5 cores more would exceed it by 1.5 cores: it can start only if the quota is raised or it requests less.",
    ]);
  });

  test('H213, C198: memory counts by the limits of services, and a host must have the reservation free', () => {
    const rig = rigOf('one');
    rig.cluster.setQuota(quota(1, { memoryBytes: 3 * GIB }));
    const {
      demand,
      quota: caps,
      waitingFor,
    } = waiting(rig, of({ total_count: 2, essential_count: 2, resources: needs(GIB / 2, 1, 2 * GIB) }));
    expect(demand).toEqual({ memoryBytes: GIB, cores: 2, limitBytes: 4 * GIB });
    expect(caps).toMatchObject([{ dimension: 'memory', used: 0, wanted: 4 * GIB, over: GIB }]);
    expect(waitingFor).toEqual([
      "The user's quota allows 3.0 GiB of memory at a time, of which the limits of running services take 0 bytes; the limits of this start, 4.0 GiB, would exceed it by 1.0 GiB: it can start only if the quota is raised or the limits of its services are lowered.",
    ]);
  });

  test('H213: an execution that can never fit its quota does not fit when idle', () => {
    const rig = rigOf('one');
    rig.cluster.setQuota(quota(1, { memoryBytes: GIB }));
    expect(waiting(rig, of({ resources: needs(GIB + 1, 1) }))).toMatchObject({
      reasons: [],
      fitsWhenIdle: false,
      placement: null,
    });
    expect(waiting(rig, of({ resources: needs(GIB, 9) }))).toMatchObject({ quota: [], fitsWhenIdle: false });
  });

  test('H213: a temporarily failed start is explained with its reason and the time of the next attempt', () => {
    const rig = rigOf('one');
    const execution = rig.submit();
    rig.turn();
    rig.see(named(execution, 'web0'), failed(true, 'the engine is busy'));
    expect(explained(rig, execution).summary).toBe(
      'Its start failed (service web0: the engine is busy): it goes back to the queue when its containers are gone.',
    );
    rig.see(named(execution, 'web0'), gone);
    expect(explained(rig, execution)).toMatchObject({
      ...{ status: 'queued', retryAtMs: rig.nowMs + 1_000, reasons: [], quota: [], fitsWhenIdle: true },
      placement: [{ host: 'one', instances: ['web0'] }],
      waitingFor: ['1 start failed (service web0: the engine is busy); the next attempt is in 1 s.'],
    });
    rig.advance(1_000);
    expect(explained(rig, execution)).toMatchObject({ status: 'starting', retryAtMs: null });
  });
});

describe('H213: capacity that is reserved for another execution', () => {
  test('H213: capacity reserved for another execution is reported if it is all that is missing, and counts as free for the execution with the reservation', () => {
    const rig = rigOf('one');
    rig.submit(of({ resources: needs(2 * GIB, 1) }));
    const large = rig.submit(of({ resources: needs(8 * GIB, 1) }));
    rig.advance(defaultSchedulerConfig.backfillReserveAfterMs);
    rig.advance(defaultSchedulerConfig.backfillReserveAfterMs);
    const small = waiting(rig, of({ resources: needs(GIB, 1) }));
    expect(small).toMatchObject({
      backfillReservedFor: large.id,
      reasons: [{ filter: 'memory', missing: 3 * GIB }],
      placement: null,
    });
    expect(small.waitingFor).toEqual([
      'web0 needs 1.0 GiB of memory, but one, the best fit, has 2.0 GiB more reserved than it has in all: 3.0 GiB short.',
      `It would fit if no capacity were reserved for execution ${large.id}, which has waited longer.`,
      ENOUGH,
    ]);
    expect(explained(rig, large)).toMatchObject({
      backfillReservedFor: null,
      reasons: [{ filter: 'memory', missing: 2 * GIB }],
    });
    expect(waiting(rig, of({ resources: needs(7 * GIB, 1) })).backfillReservedFor).toBeNull();
  });
});

describe('H211: the position in the queue', () => {
  test('H211: the position in the queue counts from 1, over the executions of all users', () => {
    const rig = new CoreRig();
    const executions = [1, 2, 1, 2].map((userId) => rig.submit(application(), userId));
    rig.turn();
    const places = executions.map((one) => explained(rig, one));
    expect(places.map(({ position, queueLength }) => [position, queueLength])).toEqual([
      [1, 4],
      [2, 4],
      [3, 4],
      [4, 4],
    ]);
    expect(places[2]?.summary).toBe('It is number 3 of 4 in the queue.');
    expect(draft(rig, application())).toMatchObject({ position: 5, queueLength: 5, status: null });
  });
});

describe('H216: executions that are not queued', () => {
  const pair = application(
    service({ startup_order: 1 }),
    service({ name: 'base', monitor: false, total_count: 3, essential_count: 3 }),
  );

  test('H214, H216: the summary of a single service is a correct sentence', () => {
    const rig = rigOf('one');
    const execution = rig.submit(application(service()));
    rig.turn();
    expect(explained(rig, execution).summary).toBe('0 of 1 essential service is active.');
  });

  test('H216: each service of a start has its next step', () => {
    const rig = rigOf('one');
    const execution = rig.submit(pair);
    rig.turn();
    rig.see(named(execution, 'base0'), { state: 'preparing', detail: 'pulling nginx:1, 42 %' });
    rig.see(named(execution, 'base1'), created);
    expect(explained(rig, execution)).toMatchObject({
      status: 'starting',
      summary: '0 of 4 essential services are active.',
      waitingFor: [
        'web0: waiting for essential services that start earlier (lower startup_order).',
        'base0: being prepared on host one (pulling nginx:1, 42 %).',
        'base1: being started on host one.',
        'base2: being prepared on host one.',
      ],
    });
    for (const name of ['base0', 'base1', 'base2']) rig.see(named(execution, name), running);
    expect(explained(rig, execution)).toMatchObject({
      summary: '3 of 4 essential services are active.',
      waitingFor: ['web0: being prepared on host one.'],
    });
    rig.see(named(execution, 'web0'), running);
    expect(explained(rig, execution)).toMatchObject({
      summary: 'All its essential services have started.',
      waitingFor: [],
      position: null,
    });
  });

  test('H216: the progress of an earlier start is dropped', () => {
    const rig = rigOf('one');
    const execution = rig.submit();
    rig.turn();
    const web = named(execution, 'web0');
    rig.see(web, { state: 'preparing', detail: 'pulling' });
    rig.see(web, failed(true));
    rig.see(web, gone);
    rig.advance(1_000);
    expect(explained(rig, execution).waitingFor).toEqual(['web0: being prepared on host one.']);
  });

  test('H216: a disconnected host, a restart and waiting services are explained', () => {
    const rig = rigOf('one');
    const execution = rig.submit(pair);
    rig.turn();
    const base = ['base0', 'base1', 'base2'].map((name) => named(execution, name));
    for (const one of base) rig.see(one, running);
    rig.see(named(execution, 'web0'), running);
    rig.see(named(execution, 'base1'), exited(1));
    rig.see(named(execution, 'base1'), gone);
    expect(explained(rig, execution).waitingFor).toEqual(['base1: restarting in 1 s.']);
    const [one] = rig.cluster.hosts.values();
    if (one) rig.disconnect(one);
    expect(explained(rig, execution).waitingFor).toEqual([
      'web0, base0 and base2: on host one, which is not connected; waiting for its agent to reconnect.',
      'base1: restarting in 1 s.',
    ]);
  });

  test('H216: waiting elastic services are explained', () => {
    const rig = rigOf('one');
    const execution = rig.submit(
      of({ total_count: 4, essential_count: 1, resources: needs(5 * GIB, 1), labels: [] }),
    );
    rig.turn();
    rig.see(named(execution, 'web0'), running);
    expect(explained(rig, execution)).toMatchObject({
      reasons: [{ instance: 'web1', instances: 3, filter: 'memory', missing: 2 * GIB }],
      waitingFor: [
        'web1 and 2 more like it need 5.0 GiB of memory each, but one, the best fit, has 3.0 GiB free: 2.0 GiB short.',
      ],
    });
    rig.cluster.setQuota(quota(1, { memoryBytes: 9 * GIB }));
    expect(explained(rig, execution).quota).toMatchObject([{ dimension: 'memory', over: GIB }]);
  });

  test('H216: the restart of an elastic service that died is explained', () => {
    const rig = rigOf('one');
    const execution = rig.submit(
      application(service(), service({ name: 'side', monitor: false, essential_count: 0 })),
    );
    rig.turn();
    for (const name of ['web0', 'side0']) rig.see(named(execution, name), running);
    rig.see(named(execution, 'side0'), exited(1));
    rig.see(named(execution, 'side0'), gone);
    expect(explained(rig, execution)).toMatchObject({
      waitingFor: ['side0: restarting in 1 s.'],
      reasons: [],
    });
  });

  test('H216: preempted elastic services, and the execution that waits for them, are explained', () => {
    const rig = rigOf('one');
    const elastic = rig.submit(of({ total_count: 2, essential_count: 1, resources: needs(4 * GIB, 1) }));
    rig.turn();
    rig.see(named(elastic, 'web0'), running);
    rig.see(named(elastic, 'web1'), running);
    expect(draft(rig, of({ resources: needs(3 * GIB, 1) })).placement).toEqual([
      { host: 'one', instances: ['web0'] },
    ]);
    expect(draft(rig, of({ resources: needs(5 * GIB, 1) })).reasons).toMatchObject([{ missing: GIB }]);
    const essential = rig.submit(of({ resources: needs(3 * GIB, 1) }));
    rig.turn();
    expect(explained(rig, elastic).waitingFor).toEqual(['web1: giving its capacity on host one to others.']);
    expect(explained(rig, essential)).toMatchObject({
      status: 'starting',
      waitingFor: ['web0: waiting until preempted services have left host one.'],
    });
    rig.see(named(elastic, 'web1'), gone);
    expect(explained(rig, essential).waitingFor).toEqual(['web0: being prepared on host one.']);
    expect(explained(rig, elastic)).toMatchObject({
      reasons: [{ instance: 'web1', instances: 1, filter: 'memory', missing: 3 * GIB }],
    });
  });

  test('H216: an execution that ends is explained with its end and what is left to stop', () => {
    const rig = rigOf('one');
    const execution = rig.submit(pair);
    rig.turn();
    rig.terminate(execution);
    expect(explained(rig, execution)).toMatchObject({
      status: 'cleaning up',
      summary: 'It ends as terminated when its containers are gone.',
      waitingFor: ['base0, base1 and base2: being stopped on host one.'],
    });
    const failing = rig.submit();
    rig.turn();
    rig.see(named(failing, 'web0'), failed(false, 'no such image'));
    expect(explained(rig, failing).summary).toBe(
      'It ends with an error when its containers are gone: service web0: no such image',
    );
  });

  test('H216: an execution that has ended is explained with the reason', () => {
    expect(explainEnd({ status: 'terminated', errorMessage: null })).toMatchObject({
      summary: 'It has ended: terminated.',
      waitingFor: [],
    });
    expect(explainEnd({ status: 'error', errorMessage: 'service web0 ended with exit code 3' }).summary).toBe(
      'It ended with an error: service web0 ended with exit code 3',
    );
  });

  test('H219: many services in many states give few sentences', () => {
    const rig = rigOf(...Array.from({ length: 60 }, (_, nth) => `host${nth}`));
    const execution = rig.submit(of({ total_count: 600, essential_count: 600, resources: needs(1, 0.1) }));
    rig.turn();
    const { waitingFor } = explained(rig, execution);
    expect(waitingFor).toHaveLength(21);
    expect(waitingFor[0]).toMatch(/^web\d+, web\d+, web\d+ and 7 more: being prepared on host host\d+\.$/);
    expect(waitingFor.at(-1)).toBe('And 40 more like these.');
  });
});

describe('H215: applications that are not submitted', () => {
  test('H215: the explanation lists the hosts of the services', () => {
    const rig = rigOf('one', 'two');
    const described = application(
      service({ total_count: 3, essential_count: 2, resources: needs(5 * GIB, 1) }),
      service({ name: 'side', monitor: false }),
    );
    const { placement, summary } = draft(rig, described);
    expect(summary).toBe('It would start at once.');
    expect(placement).toEqual([
      { host: 'one', instances: ['web0', 'side0'] },
      { host: 'two', instances: ['web1'] },
    ]);
    expect(rig.cluster.nextIds).toMatchObject({ execution: 1, service: 1 });
  });

  test('H215: the explanation states that the execution would wait, and why', () => {
    const rig = rigOf('one');
    waiting(rig, of({ resources: needs(9 * GIB, 1) }));
    expect(draft(rig, of({ resources: needs(1, 4.25) }))).toMatchObject({
      summary: 'It would wait as number 2 of 2 in the queue.',
      placement: null,
      waitingFor: [
        'web0 needs 4.25 cores, but one, the best fit, has 4 cores free: 0.25 cores short. It has only 4 cores in all: request less, or add a larger host.',
        NOT_ENOUGH,
      ],
    });
  });
});
