import { expect, test } from 'vitest';
import { nextDeadline } from '../../../../control-plane/core/lifecycle/reconciler.ts';
import { requestEnd } from '../../../../control-plane/core/lifecycle/state-transitions.ts';
import type { Execution } from '../../../../control-plane/core/model/execution.ts';
import {
  defaultSchedulerConfig,
  queuePolicies,
} from '../../../../control-plane/core/model/scheduler-config.ts';
import {
  releaseReservation,
  restoreReservation,
  savedReservation,
} from '../../../../control-plane/core/scheduling/backfill-reservation.ts';
import type { ServiceDescription } from '../../../../shared/application-schema.ts';
import { application, needs, service } from '../../../support/fixtures/applications.ts';
import {
  CoreRig,
  exited,
  failed,
  gone,
  hostFacts,
  named,
  quota,
  running,
  user,
} from '../../../support/rigs/core-rig.ts';
import { cases, fc } from '../../../support/tools/random-cases.ts';

const { backfillReserveAfterMs: RESERVE_AFTER_MS } = defaultSchedulerConfig;

const requesting = (cores: number, changes: Partial<ServiceDescription> = {}) =>
  application(service({ resources: needs(null, cores), ...changes }));

/** A rig with one host for each number of cores, filled by running executions of one core each. */
function fullRig(...cores: number[]) {
  const rig = new CoreRig();
  for (const [at, each] of cores.entries()) rig.hello(hostFacts(`host${at}`, { cores: each }));
  const total = cores.reduce((sum, each) => sum + each, 0);
  const small = Array.from({ length: total }, () => rig.submit(requesting(1)));
  rig.turn();
  for (const one of small) rig.see(named(one, 'web0'), running);
  const end = (execution = small[0]) => {
    if (!execution) throw new Error('no execution');
    rig.see(named(execution, 'web0'), exited(0), gone);
  };
  const on = (name: string) => small.filter((one) => rig.hostOf(named(one, 'web0')).name === name);
  return { rig, small, end, on };
}

/** A full rig on which capacity is reserved for `big`, which requests this number of cores. */
function reservingRig(wanted: number, ...cores: number[]) {
  const full = fullRig(...cores);
  const big = full.rig.submitInTurn(requesting(wanted));
  full.rig.advance(RESERVE_AFTER_MS);
  return { ...full, big };
}

test('C70: executions that fit pass the oldest one until it has waited for 10 minutes; then capacity is reserved for it, and none passes it', () => {
  const { rig, small, end } = fullRig(3);
  const big = rig.submitInTurn(requesting(3));
  const passing = rig.submit(requesting(1));
  end(small[0]);
  expect(passing.status).toBe('starting');
  rig.advance(RESERVE_AFTER_MS - 1);
  expect(rig.cluster.reservation?.placements).toEqual([]);
  expect(nextDeadline(rig.cluster)).toBe(rig.nowMs + 1);
  rig.advance(1);
  expect(rig.cluster.reservation).toMatchObject({
    execution: { id: big.id },
    placements: [{ host: { name: 'host0' } }],
  });
  const later = rig.submit(requesting(1));
  end(small[1]);
  expect(later.status).toBe('queued');
  end(small[2]);
  expect(big.status).toBe('queued');
  rig.see(named(passing, 'web0'), running);
  end(passing);
  expect([big.status, later.status]).toEqual(['starting', 'queued']);
  expect(rig.cluster.hostNamed('host0')).toMatchObject({ backfillReservedCores: 0, reservedCores: 3 });
});
test('C73: the time until the reservation is a setting, and may be 0', () => {
  const rig = new CoreRig({ backfillReserveAfterMs: 0 });
  rig.hello(hostFacts('one', { cores: 2 }));
  const small = rig.submit(requesting(1));
  const big = rig.submitInTurn(requesting(2));
  const later = rig.submitInTurn(requesting(1));
  expect([small.status, big.status, later.status]).toEqual(['starting', 'queued', 'queued']);
  expect(rig.cluster.reservation?.execution).toBe(big);
});
test('C70: the reservation covers only the hosts that the execution needs, and only as much as it needs', () => {
  const { rig, end, on, big } = reservingRig(3, 4, 2);
  expect(rig.cluster.reservation?.placements.map(({ host }) => host.name)).toEqual(['host0']);
  const [first, second] = [rig.submit(requesting(1)), rig.submit(requesting(1))];
  end(on('host1')[0]);
  expect([first.status, second.status]).toEqual(['starting', 'queued']);
  for (const one of on('host0').slice(0, 3)) end(one);
  expect([big.status, second.status]).toEqual(['starting', 'queued']);
  end(on('host0')[3]);
  expect(second.status).toBe('starting');
});
test('C70: the execution starts elsewhere if capacity is free there sooner', () => {
  const { rig, big } = reservingRig(3, 3);
  rig.join(hostFacts('later'));
  expect(rig.hostOf(named(big, 'web0')).name).toBe('later');
  expect(rig.cluster.hostNamed('host0')?.backfillReservedCores).toBe(0);
});
test('C70: the reservation covers capacity of elastic services, which are not placed in it again', () => {
  const rig = new CoreRig();
  for (const name of ['host0', 'host1']) rig.hello(hostFacts(name, { cores: 4 }));
  const work = { name: 'work', monitor: false, total_count: 9, essential_count: 0 };
  const elastic = rig.submit(
    application(service({ resources: needs(null, 2) }), service({ ...work, resources: needs(null, 1) })),
  );
  const blocker = rig.submitInTurn(requesting(2));
  for (const one of [elastic, blocker]) rig.see(named(one, 'web0'), running);
  const gang = rig.submitInTurn(requesting(4, { total_count: 2, essential_count: 2 }));
  rig.advance(RESERVE_AFTER_MS);
  expect(gang.status).toBe('queued');
  rig.see(named(elastic, 'work0'), exited(1), gone);
  rig.advance(5_000);
  expect(named(elastic, 'work0').placed).toBe(false);
});
test('C70: the reservation ends with its execution', () => {
  const { rig, small, end, big } = reservingRig(2, 2);
  const later = rig.submit(requesting(1));
  end(small[0]);
  expect(later.status).toBe('queued');
  expect(rig.terminate(big).slice(-2)).toEqual(['place web0@host0', 'start web0.1']);
  expect(rig.cluster.reservation).toBeNull();
});
test('C70: the reservation moves to other capacity if its host is lost or drained', () => {
  const { rig } = reservingRig(2, 2, 2);
  const before = rig.cluster.reservation?.placements[0]?.host;
  if (!before) throw new Error('nothing is reserved');
  before.schedulable = false;
  rig.turn();
  const now = rig.cluster.reservation?.placements[0]?.host;
  expect([now?.name, now?.backfillReservedCores, before.backfillReservedCores]).toEqual([
    before.name === 'host0' ? 'host1' : 'host0',
    2,
    0,
  ]);
});

/** The coordinator loses its reservation, and `restores` the one that it has saved. */
function sleep({ cluster }: CoreRig, change: () => void = () => {}): void {
  const saved = savedReservation(cluster);
  if (!saved) throw new Error('there is no reservation');
  releaseReservation(cluster);
  cluster.reservation = null;
  change();
  restoreReservation(cluster, structuredClone(saved));
}

test('C70: after a sleep of the coordinator the reservation stays on its host, even if another one is emptier by then', () => {
  const { rig, end, on } = reservingRig(4, 4, 4);
  for (const one of on('host1').slice(0, 3)) end(one);
  sleep(rig);
  rig.turn();
  expect(rig.cluster.reservation?.placements).toMatchObject([{ host: { name: 'host0' } }]);
  const reserved = ['host0', 'host1'].map((name) => rig.cluster.hostNamed(name)?.backfillReservedCores);
  expect(reserved).toEqual([4, 0]);
});
test('C70: after a sleep of the coordinator the time of the candidate goes on, and that of another candidate begins', () => {
  const { rig } = fullRig(4);
  const [first, second] = [rig.submit(requesting(4)), rig.submit(requesting(4))];
  rig.turn();
  const dueMs = rig.nowMs + RESERVE_AFTER_MS;
  rig.advance(60_000);
  sleep(rig);
  rig.turn();
  expect(rig.cluster.reservation).toMatchObject({ execution: first, dueMs });
  sleep(rig, () => requestEnd(rig.cluster, first, rig.nowMs));
  rig.turn();
  expect(rig.cluster.reservation).toMatchObject({ execution: second, dueMs: rig.nowMs + RESERVE_AFTER_MS });
});

test('C71: no reservation is made for an execution that would not fit on empty hosts; the next oldest gets one', () => {
  const { rig } = fullRig(2, 2);
  const ids = [
    requesting(3),
    requesting(1, { labels: ['gpu'] }),
    requesting(2, { total_count: 3, essential_count: 3 }),
  ].map((one) => rig.submit(one).id);
  const next = rig.submitInTurn(requesting(2));
  rig.advance(RESERVE_AFTER_MS);
  expect(rig.cluster.reservation?.execution.id).toBe(next.id);
  expect(ids).not.toContain(next.id);
});
test('C71: no reservation is made for an execution that would exceed the quota of its user', () => {
  const { rig } = fullRig(2);
  rig.cluster.setQuota(quota(2, { cores: 1 }));
  rig.submitInTurn(requesting(2), 2);
  rig.advance(RESERVE_AFTER_MS);
  expect(rig.cluster.reservation).toBeNull();
});
test('C71: no reservation is made for an execution that waits for its next attempt after a failed start, and none stays with one behind another of a higher priority', () => {
  const { rig, small, end } = fullRig(1);
  const next = rig.submitInTurn(requesting(1));
  end(small[0]);
  expect(rig.cluster.reservation).toBeNull();
  rig.see(named(next, 'web0'), failed(true), gone);
  expect(next.status).toBe('queued');
  expect(rig.cluster.reservation).toBeNull();
  const { rig: full } = reservingRig(2, 2);
  full.cluster.setUser({ ...user(2, 2), priority: 5 });
  const urgent = full.submitInTurn(requesting(2), 2);
  expect(full.cluster.reservation?.execution.id).toBe(urgent.id);
  expect(full.cluster.hostNamed('host0')?.backfillReservedCores).toBe(0);
});

const MINUTE_MS = 60_000;
const LONGEST = 5;
const arrivals = fc.array(
  fc.record({
    minute: fc.nat({ max: 40 }),
    cores: fc.constantFrom(1, 1, 1, 2, 3, 4),
    count: fc.constantFrom(1, 1, 2),
    minutes: fc.integer({ min: 1, max: LONGEST }),
    userId: fc.constantFrom(1, 2),
  }),
  { minLength: 20, maxLength: 80, size: 'max' },
);
test.each(queuePolicies)(
  'C72: with %s each execution waits at most 10 minutes and one run for each one before it and for itself',
  (queuePolicy) => {
    let longest = 0;
    fc.assert(
      fc.property(arrivals, (all) => {
        const rig = new CoreRig({ queuePolicy });
        for (const name of ['host0', 'host1']) rig.hello(hostFacts(name, { cores: 4 }));
        const runs: { execution: Execution; minutes: number; submitted: number; started: number | null }[] =
          [];
        for (let minute = 0; minute <= 40 || runs.some(({ started }) => started === null); minute++) {
          for (const { cores, count, minutes, userId } of all.filter((one) => one.minute === minute)) {
            const execution = rig.submit(
              requesting(cores, { total_count: count, essential_count: count }),
              userId,
            );
            runs.push({ execution, minutes, submitted: minute, started: null });
          }
          rig.turn();
          for (const run of runs) {
            const { execution, minutes } = run;
            if (execution.status === 'starting') {
              run.started = minute;
              for (const one of execution.services) rig.see(one, running);
            } else if (execution.status === 'running' && minute - (run.started ?? 0) >= minutes) {
              rig.see(named(execution, 'web0'), exited(0));
              for (const one of execution.services) rig.see(one, gone);
            }
          }
          rig.advance(MINUTE_MS);
          if (minute > 10_000) throw new Error('something waits for ever');
        }
        for (const [at, { submitted, started }] of runs.entries()) {
          const waited = (started ?? 0) - submitted;
          longest = Math.max(longest, waited);
          expect(waited).toBeLessThanOrEqual((at + 1) * (RESERVE_AFTER_MS / MINUTE_MS + LONGEST + 2));
        }
      }),
      cases(5),
    );
    expect(longest).toBeGreaterThan(10);
  },
);
