import { expect, test } from 'vitest';
import type { Execution, ExecutionStatus } from '../../../../control-plane/core/model/execution.ts';
import { placementPolicies, queuePolicies } from '../../../../control-plane/core/model/scheduler-config.ts';
import type { Service } from '../../../../control-plane/core/model/service.ts';
import { hasCandidates } from '../../../../control-plane/core/scheduling/scheduling-pass.ts';
import { isBeyond, loadOf, present } from '../../../support/fixtures/caps.ts';
import { queuedIds } from '../../../support/rigs/core-rig.ts';
import { type Check, type Operation, Simulation } from '../../../support/rigs/core-simulation.ts';
import {
  capsOf,
  checkLives,
  elasticEverywhere,
  isOverQuota,
  lives,
  RUNS,
} from '../../../support/rigs/random-lives.ts';
import { cases, fc } from '../../../support/tools/random-cases.ts';

/** Checks rules after every turn of random lives, also while they heal. */
const checkTurns = (check: Check, ...more: [before?: readonly Operation[], runs?: { numRuns: number }]) =>
  checkLives((simulation) => simulation.heal(), check, ...more);

const RANKS: Record<ExecutionStatus, number> = {
  submitted: 0,
  queued: 1,
  starting: 2,
  running: 3,
  'cleaning up': 4,
  terminated: 5,
  error: 5,
};

test('C1: a status only advances, except for executions that return to the queue, and an end is final', () => {
  const seen = new WeakMap<Execution, ExecutionStatus>();
  let moved = 0;
  checkTurns(
    ({ submitted }) => {
      for (const execution of submitted) {
        const before = seen.get(execution) ?? 'submitted';
        const { status } = execution;
        seen.set(execution, status);
        if (status === before || (before === 'starting' && status === 'queued')) continue;
        if (before === 'running' && (status === 'queued' || status === 'starting')) {
          moved++;
          continue;
        }
        if (RANKS[status] <= RANKS[before]) throw new Error(`${before} became ${status}`);
      }
    },
    elasticEverywhere,
    // A return to the queue is rare.
    cases(45),
  );
  expect(moved).toBeGreaterThan(0);
});

const sumOf = (services: readonly Service[]) => ({
  memoryBytes: services.reduce((sum, { requirement }) => sum + requirement.memoryBytes, 0),
  cores: services.reduce((sum, { requirement }) => sum + requirement.cores, 0),
});

test('C6, C56, C198: the reservation on a host and the counted usage of a user are the sums of the placements, after every turn', () => {
  checkTurns(({ rig: { cluster }, submitted }) => {
    const placed = [...cluster.services.values()].filter((one) => one.placed);
    const isElastic = ({ essential }: Service) => !essential;
    for (const host of cluster.hosts.values()) {
      const here = placed.filter(({ hostId }) => hostId === host.id);
      const [reserved, elastic] = [sumOf(here), sumOf(here.filter(isElastic))];
      expect(host.reservedMemoryBytes).toBe(reserved.memoryBytes);
      expect(host.reservedCores).toBeCloseTo(reserved.cores, 6);
      expect(host.elasticMemoryBytes).toBe(elastic.memoryBytes);
      expect(host.elasticCores).toBeCloseTo(elastic.cores, 6);
      expect(reserved.memoryBytes).toBeLessThanOrEqual(host.memoryBytes);
      expect(reserved.cores).toBeLessThanOrEqual(host.cores + 1e-6);
    }
    for (const userId of [1, 2]) {
      const { executions, memoryBytes, microCores } = cluster.usage(userId);
      expect([executions, memoryBytes, microCores]).toEqual(present(submitted, userId));
      const ids = [...cluster.executions.values()].filter((one) => one.userId === userId).map(({ id }) => id);
      const own = placed.filter(({ executionId }) => ids.includes(executionId));
      expect(cluster.placedOf(userId)).toBe(own.length);
      expect(cluster.elasticOf(userId)).toEqual(new Set(own.filter(isElastic)));
    }
    expect(cluster.elasticCount).toBe(placed.filter(isElastic).length);
  });
});

test('H161, H217: the counts of executions by status and by user are those of the live ones, after every turn', () => {
  checkTurns(({ rig: { cluster } }) => {
    const live = [...cluster.executions.values()];
    const { counts } = cluster;
    for (const status of Object.keys(RANKS) as ExecutionStatus[])
      expect(counts.of(status)).toBe(live.filter((one) => one.status === status).length);
    const waiting = [1, 2].map((userId) => {
      const own = live.filter((one) => one.userId === userId);
      expect(counts.unendedOf(userId)).toBe(own.filter(({ status }) => RANKS[status] < 4).length);
      return own.filter(({ status }) => status === 'queued').length;
    });
    expect(counts.mostWaiting.executions).toBe(Math.max(...waiting));
  });
});

test('C52: no placement exceeds a cap of its user, and no cap ends an execution, after every turn', () => {
  let overQuota = 0;
  checkTurns((simulation, decisions) => {
    const { submitted } = simulation;
    for (const decision of decisions) {
      if (decision.kind === 'begin-cleanup')
        expect(decision.execution.services.some(({ deathsMs }) => deathsMs.length > 0)).toBe(true);
      if (decision.kind !== 'place') continue;
      // Later placements of the turn are included: they had to respect the caps as well.
      const { execution, placements } = decision;
      const placed = placements.map(({ service }) => service);
      const added = loadOf(placed.some(({ essential }) => essential) ? 1 : 0, placed);
      const after = present(submitted, execution.userId);
      expect(isBeyond(capsOf(simulation, execution), after, added)).toBe(false);
    }
    overQuota += submitted.filter((one) => one.status === 'queued' && isOverQuota(simulation, one)).length;
  });
  expect(overQuota).toBeGreaterThan(10);
});

test('C2: either all essential services of an execution are placed or none, after every turn', () => {
  checkTurns(({ submitted }) => {
    for (const { id, status, services } of submitted) {
      const essential = services.filter((one) => one.essential);
      const placed = essential.filter((one) => one.placed).length;
      const wanted =
        status === 'starting' || status === 'running'
          ? [essential.length]
          : status === 'cleaning up'
            ? [0, essential.length]
            : [0];
      if (!wanted.includes(placed)) throw new Error(`execution ${id} is ${status} with ${placed} placed`);
    }
  });
});

test('P5, C67: no service ever has two containers, no key more than one, and no host less than its containers need, after every turn', () => {
  checkTurns(({ hosts, submitted }) => {
    const containers = hosts.flatMap((host) => host.containers);
    expect(new Set(containers).size).toBe(containers.length);
    for (const host of hosts) for (const made of host.made.values()) expect(made).toBe(1);
    const services = new Map(submitted.flatMap(({ services }) => services.map((one) => [one.id, one])));
    for (const { containers, facts } of hosts) {
      const needed = containers.map((id) => services.get(id)?.requirement);
      const memory = needed.reduce((sum, one) => sum + (one?.memoryBytes ?? 0), 0);
      const cores = needed.reduce((sum, one) => sum + (one?.cores ?? 0), 0);
      expect(memory).toBeLessThanOrEqual(facts.memoryBytes);
      expect(cores).toBeLessThanOrEqual(facts.cores + 1e-6);
    }
  }, elasticEverywhere);
});

test('C67: only elastic services are preempted, and only for a gang that is placed with it, after every turn', () => {
  let preempted = 0;
  checkTurns((_, decisions) => {
    for (const [at, decision] of decisions.entries()) {
      if (decision.kind !== 'preempt') continue;
      preempted++;
      expect(decision.service.essential).toBe(false);
      const next = decisions.slice(at).find(({ kind }) => kind !== 'preempt');
      const gang = next?.kind === 'place' ? next : undefined;
      expect(gang?.placements.some(({ service }) => service.essential)).toBe(true);
      expect(gang?.execution.services).not.toContain(decision.service);
    }
  }, elasticEverywhere);
  expect(preempted).toBeGreaterThan(0);
});

test('C5, C40: the queue holds each queued execution once that waits for no retry, nothing is left to decide and the next deadline lies ahead, after every turn', () => {
  checkTurns(({ rig: { cluster, nowMs }, deadline }) => {
    const waiting = [...cluster.executions.values()].filter(
      ({ status, retryAtMs }) => status === 'queued' && (retryAtMs ?? 0) <= nowMs,
    );
    const ids = queuedIds(cluster).toSorted((a, b) => a - b);
    expect(ids).toEqual(waiting.map(({ id }) => id).toSorted((a, b) => a - b));
    expect(cluster.dirty.size).toBe(0);
    expect(hasCandidates(cluster)).toBe(false);
    if (deadline !== null) expect(deadline).toBeGreaterThan(nowMs);
  });
});

test('C40: the same inputs give the same decisions, with every policy', () => {
  const queuePolicy = fc.constantFrom(...queuePolicies);
  const placementPolicy = fc.constantFrom(...placementPolicies);
  fc.assert(
    fc.property(lives, fc.record({ queuePolicy, placementPolicy }), (operations, scheduling) => {
      const logs = [1, 2].map(() => {
        const simulation = new Simulation(() => {}, scheduling);
        simulation.run(operations);
        simulation.heal();
        return simulation.rig.decisionLog;
      });
      expect(logs[1]).toEqual(logs[0]);
    }),
    RUNS,
  );
});

test('the simulated lives are varied enough: every decision and every end occurs', () => {
  const kinds = new Set<string>();
  checkLives(
    ({ rig, submitted, removed }) => {
      if (removed > 0) kinds.add('removed');
      for (const text of rig.decisionLog) kinds.add(text.split(' ')[0] ?? '');
      for (const text of rig.decisionLog) if (text.startsWith('finish')) kinds.add(text.split(' ')[2] ?? '');
      for (const { timeStartMs } of submitted) if (timeStartMs !== null) kinds.add('ran');
    },
    () => {},
    elasticEverywhere,
    // A fixed seed, because some decisions are rare.
    { ...RUNS, seed: 34 },
  );
  const ofServices = ['place', 'start', 'stop', 'replace-service', 'preempt', 'evict', 'forget'];
  const ofExecutions = ['mark-running', 'ran', 'begin-cleanup', 'finish', 'purge'];
  const ends = ['terminated', 'error', 'queued', 'lose-host', 'removed'];
  expect([...kinds]).toEqual(expect.arrayContaining([...ofServices, ...ofExecutions, ...ends]));
});
