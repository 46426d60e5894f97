import { expect, test } from 'vitest';
import { defaultSchedulerConfig } from '../../../../control-plane/core/model/scheduler-config.ts';
import { application, needs, service } from '../../../support/fixtures/applications.ts';
import { CoreRig, failed, gone, named, quota } from '../../../support/rigs/core-rig.ts';
import {
  draft,
  ENOUGH,
  explained,
  GIB,
  NOT_ENOUGH,
  of,
  rigOf,
  waiting,
} from '../../../support/rigs/explanations.ts';

test('H213: each exceeded cap is explained, with what would change that', () => {
  const rig = rigOf('one');
  rig.submitInTurn(of({ resources: needs(3 * GIB, 1) }));
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
  const execution = rig.submitInTurn();
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
    'web0 needs 1.0 GiB of memory, but one, the best fit, has nothing free beyond what is reserved for an execution that has waited longer, for which it keeps its last 6.0 GiB.',
    `It would fit if no capacity were reserved for execution ${large.id}, which has waited longer.`,
    ENOUGH,
  ]);
  expect(explained(rig, large)).toMatchObject({
    backfillReservedFor: null,
    reasons: [{ filter: 'memory', missing: 2 * GIB }],
  });
  expect(waiting(rig, of({ resources: needs(7 * GIB, 1) })).backfillReservedFor).toBeNull();
});

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

test('H215: the explanation of an application that is not submitted lists the hosts of the services', () => {
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

test('H215: the explanation of an application that is not submitted states that its execution would wait, and why', () => {
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
