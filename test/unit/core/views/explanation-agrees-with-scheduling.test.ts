import { expect, test } from 'vitest';
import { defaultBounds } from '../../../../control-plane/core/model/bounds.ts';
import type { Execution } from '../../../../control-plane/core/model/execution.ts';
import type { Host } from '../../../../control-plane/core/model/host.ts';
import {
  defaultSchedulerConfig,
  placementPolicies,
  queuePolicies,
  type SchedulerConfig,
} from '../../../../control-plane/core/model/scheduler-config.ts';
import { type Explanation, explain, type Reason } from '../../../../control-plane/core/views/explanation.ts';
import type { Application } from '../../../../shared/application-schema.ts';
import { application, needs, service } from '../../../support/fixtures/applications.ts';
import {
  CoreRig,
  hostFacts,
  lowDisk,
  noSecretFiles,
  quota,
  running,
} from '../../../support/rigs/core-rig.ts';
import { operation, Simulation } from '../../../support/rigs/core-simulation.ts';
import { draft } from '../../../support/rigs/explanations.ts';
import { cases, fc } from '../../../support/tools/random-cases.ts';

/** Explanations are compared with what the scheduler then does, and with the hosts themselves. */
const labels: fc.Arbitrary<string[]> = fc.subarray(['gpu', 'ssd']);
const host = fc.record({
  memoryBytes: fc.integer({ min: 20, max: 200 }),
  cores: fc.constantFrom(1, 2, 4, 8),
  labels,
  state: fc.constantFrom(
    ...Array<'usable'>(12).fill('usable'),
    'drained',
    'lost',
    'away',
    'low-disk',
    ...Array<'no-files'>(2).fill('no-files'),
  ),
} as const);
const SECRET_FILE = { name: 'key', path: '/etc/key' };
const definition = fc.record({
  instances: fc.constantFrom(1, 1, 2, 3),
  elastic: fc.constantFrom(0, 0, 2),
  memoryBytes: fc.integer({ min: 0, max: 60 }),
  cores: fc.constantFrom(0.1, 0.3, 1, 2),
  labels: fc.oneof({ weight: 3, arbitrary: fc.constant<string[]>([]) }, labels),
  files: fc.constantFrom<(typeof SECRET_FILE)[] | undefined>(undefined, undefined, [SECRET_FILE]),
});
type Definition = typeof definition extends fc.Arbitrary<infer T> ? T : never;

const applicationOf = (definitions: readonly Definition[]): Application =>
  application(
    ...definitions.map(({ instances, elastic, memoryBytes, cores, labels, files }, nth) =>
      service({
        ...{ name: `app${nth}`, labels, files, resources: needs(memoryBytes, cores) },
        ...{ total_count: instances + elastic, essential_count: instances },
      }),
    ),
  );
const described = fc.array(definition, { minLength: 1, maxLength: 3 }).map(applicationOf);
const caps = fc.record({
  concurrentExecutions: fc.constantFrom(0, 0, 0, 0, 2),
  memoryBytes: fc.constantFrom(0, 0, 0, 0, 100),
  cores: fc.constantFrom(0, 0, 0, 0, 3),
});
const scheduling: fc.Arbitrary<SchedulerConfig> = fc.record({
  queuePolicy: fc.constantFrom(...queuePolicies),
  placementPolicy: fc.constantFrom(...placementPolicies),
  seed: fc.nat({ max: 9 }),
  backfillReserveAfterMs: fc.constant(defaultSchedulerConfig.backfillReserveAfterMs),
  lostAfterMs: fc.constant(90_000),
  hostLossPolicy: fc.constant('wait' as const),
  defaultMemoryBytes: fc.constant(defaultSchedulerConfig.defaultMemoryBytes),
  bounds: fc.constantFrom(1, 4, 200_000).map((placedInstances) => ({ ...defaultBounds, placedInstances })),
  streams: fc.constant(defaultSchedulerConfig.streams),
});
const scene = fc.record({
  scheduling,
  hosts: fc.array(host, { maxLength: 5 }),
  before: fc.array(fc.record({ described, userId: fc.constantFrom(1, 2) }), { maxLength: 5 }),
  /** Long enough for a backfill reservation. */
  waited: fc.boolean(),
  caps,
  asked: described,
});
type Scene = typeof scene extends fc.Arbitrary<infer T> ? T : never;

/**
 * A cluster on which `before` was placed as far as it fitted, elastic services included, before hosts and
 * caps changed to their final state.
 */
function rigOf({ scheduling, hosts, waited, caps }: Scene, before: Scene['before']): CoreRig {
  const rig = new CoreRig(scheduling);
  const all = hosts.map(({ state, ...facts }, nth) => ({
    state,
    host: rig.hello(hostFacts(`host${nth}`, facts)),
  }));
  const executions = before.map(({ described, userId }) => rig.submit(described, userId));
  rig.turn();
  for (let round = 0; round < 2; round++)
    for (const service of executions.flatMap(({ services }) => services))
      if (service.status === 'starting') rig.see(service, running);
  for (const { state, host } of all) {
    host.schedulable = state !== 'drained';
    host.lost = state === 'lost';
    host.conditions = state === 'low-disk' ? [lowDisk] : state === 'no-files' ? [noSecretFiles] : [];
    if (state === 'away') rig.disconnect(host);
  }
  rig.cluster.setQuota(quota(1, caps));
  rig.turn();
  if (waited) rig.advance(defaultSchedulerConfig.backfillReserveAfterMs);
  rig.turn();
  return rig;
}

const hasReasons = ({ reasons, quota }: Explanation): boolean => reasons.length + quota.length > 0;

/** The hosts of the placed services, in the form of an explained placement. */
const placesOf = (rig: CoreRig, { services }: Execution) =>
  Array.from(
    Map.groupBy(
      services.filter(({ placed }) => placed),
      (one) => rig.hostOf(one).name,
    ),
    ([host, placed]) => ({ host, instances: placed.map(({ name }) => name) }),
  );

test('H211: an execution without reasons is placed in the next turn on the predicted hosts, and one with reasons is not', () => {
  const seen = { placed: 0, queued: 0, preempting: 0, reserved: 0 };
  fc.assert(
    fc.property(scene, (drawn) => {
      const rig = rigOf(drawn, drawn.before);
      const predicted = draft(rig, drawn.asked);
      const execution = rig.submit(drawn.asked);
      const preempts = rig.turn().some((decision) => decision.startsWith('preempt '));
      expect(execution.status).toBe(hasReasons(predicted) ? 'queued' : 'starting');
      if (hasReasons(predicted)) {
        const { reasons, quota, position, waitingFor } = explain(rig.cluster, execution, rig.nowMs);
        expect({ reasons, quota, position, waitingFor }).toEqual({
          ...{ reasons: predicted.reasons, quota: predicted.quota },
          ...{ position: predicted.position, waitingFor: predicted.waitingFor },
        });
        seen.queued++;
        if (predicted.backfillReservedFor !== null) seen.reserved++;
      } else {
        expect(predicted.placement).toEqual(placesOf(rig, execution));
        seen.placed++;
        if (preempts) seen.preempting++;
      }
    }),
    cases(500),
  );
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
});

test('H211: fits_when_idle is what happens on an idle cluster', () => {
  const answers = { true: 0, false: 0 };
  fc.assert(
    // All services are alike: the order of different ones could make an idle cluster take more or less.
    fc.property(scene, definition, (drawn, one) => {
      const asked = applicationOf([one]);
      const { fitsWhenIdle, reasons, quota } = draft(rigOf(drawn, drawn.before), asked);
      if (reasons.length + quota.length === 0) return;
      const idle = rigOf(drawn, []);
      const execution = idle.submitInTurn(asked);
      expect(execution.status === 'starting').toBe(fitsWhenIdle);
      answers[fitsWhenIdle ? 'true' : 'false']++;
    }),
    cases(300),
  );
  expect(Math.min(answers.true, answers.false)).toBeGreaterThan(5);
});

/** Computes the expected reasons from the hosts alone: usable hosts, and those of them with the labels. */
function expectedReasons(
  hosts: readonly Host[],
  asked: Application,
): Record<Reason['filter'], object | null> {
  const [wanted] = asked.services;
  const memory = Number(wanted?.resources.memory.min);
  const cores = Number(wanted?.resources.cores.min);
  const able = hosts.filter(
    (one) => one.connected && one.schedulable && !one.lost && !one.conditions.includes(lowDisk),
  );
  const labelled = able.filter((one) => wanted?.labels?.every((label) => one.labels.includes(label)));
  const fit = labelled.filter((one) => !wanted?.files || !one.conditions.includes(noSecretFiles));
  const lacks = (lack: (one: Host) => number, whole: (one: Host) => number) => {
    const short = fit.filter((one) => lack(one) > 1e-9);
    if (short.length === 0) return null;
    const missing = expect.closeTo(Math.min(...short.map(lack)), 6);
    return { hosts: short.length, of: fit.length, missing, largest: Math.max(...short.map(whole)) };
  };
  return {
    schedulable:
      able.length < hosts.length || hosts.length === 0
        ? { hosts: hosts.length - able.length, of: hosts.length }
        : null,
    labels: labelled.length < able.length ? { hosts: able.length - labelled.length, of: able.length } : null,
    'secret-files':
      fit.length < labelled.length ? { hosts: labelled.length - fit.length, of: labelled.length } : null,
    memory: lacks(
      (one) =>
        memory -
        (one.memoryBytes -
          one.reservedMemoryBytes +
          one.elasticMemoryBytes -
          one.backfillReservedMemoryBytes),
      (one) => one.memoryBytes,
    ),
    cores: lacks(
      (one) => cores - (one.cores - one.reservedCores + one.elasticCores - one.backfillReservedCores),
      (one) => one.cores,
    ),
  };
}

test('H212: each reason is true of the hosts, and none is missing', () => {
  const seen = new Map<string, number>();
  const single = definition.map(({ memoryBytes, cores, labels, files }) =>
    application(service({ labels, files, resources: needs(memoryBytes, cores) })),
  );
  fc.assert(
    fc.property(scene, single, (drawn, asked) => {
      const rig = rigOf(drawn, drawn.before);
      const { reasons } = draft(rig, asked);
      if (reasons.length === 0) return;
      const expectedByFilter = expectedReasons([...rig.cluster.hosts.values()], asked);
      const expected = Object.entries(expectedByFilter).filter(([, one]) => one !== null);
      expect(reasons.map(({ filter }) => filter)).toEqual(expected.map(([filter]) => filter));
      for (const reason of reasons) {
        expect(reason).toMatchObject(expectedByFilter[reason.filter] ?? {});
        seen.set(reason.filter, (seen.get(reason.filter) ?? 0) + 1);
      }
    }),
    cases(300),
  );
  for (const filter of ['schedulable', 'labels', 'secret-files', 'memory', 'cores'])
    expect(seen.get(filter)).toBeGreaterThan(5);
});

test('H211: after every turn of any life a waiting execution has a reason, and one without a reason does not wait', () => {
  const seen = { waiting: 0, retries: 0, others: 0 };
  fc.assert(
    fc.property(fc.array(operation, { minLength: 10, maxLength: 60, size: 'max' }), (operations) => {
      const simulation = new Simulation(({ rig }) => {
        for (const execution of rig.cluster.executions.values()) {
          const explained = explain(rig.cluster, execution, rig.nowMs);
          expect(explained.status).toBe(execution.status);
          if (execution.status !== 'queued') seen.others++;
          else if (explained.retryAtMs !== null && explained.retryAtMs > rig.nowMs) seen.retries++;
          else {
            expect(hasReasons(explained)).toBe(true);
            expect(explained.waitingFor).not.toEqual([]);
            seen.waiting++;
          }
        }
      });
      simulation.run(operations);
    }),
    cases(120),
  );
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
});
