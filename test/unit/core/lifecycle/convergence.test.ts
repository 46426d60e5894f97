import { expect, test } from 'vitest';
import { isEnded } from '../../../../control-plane/core/model/execution.ts';
import { placeGang } from '../../../../control-plane/core/scheduling/gang-placement.ts';
import { checkLives, isOverQuota } from '../../../support/rigs/random-lives.ts';

test('C1: after all faults are healed, each execution has ended, runs, or waits for capacity that is not free', () => {
  checkLives(
    (simulation) => {
      simulation.heal();
      const { cluster } = simulation.rig;
      for (const execution of cluster.executions.values()) {
        const essential = execution.services.filter((one) => one.essential);
        if (execution.status === 'queued') {
          const fits = placeGang(essential, cluster.hostIndex) !== null;
          expect(fits && !isOverQuota(simulation, execution)).toBe(false);
        } else expect(execution.status).toBe('running');
      }
      for (const execution of simulation.submitted) {
        if (!cluster.executions.has(execution.id)) expect(isEnded(execution)).toBe(true);
      }
    },
    () => {},
  );
});

test('C14, C16, C173: after all executions are terminated, no container, reservation, weight, deadline or queue entry is left', () => {
  let ends = 0;
  checkLives(
    (simulation) => {
      simulation.heal();
      simulation.terminateAll();
      simulation.heal();
      const { cluster } = simulation.rig;
      ends += simulation.submitted.filter(isEnded).length;
      expect([...cluster.executions.values()]).toEqual([]);
      expect(cluster.services.size).toBe(0);
      expect([cluster.queue.size, cluster.elastic.size]).toEqual([0, 0]);
      expect(cluster.deadlines.next()).toBeNull();
      expect([cluster.admitted.size, cluster.placedWeight]).toEqual([0, 0]);
      for (const userId of [1, 2])
        expect(cluster.usage(userId)).toEqual({ executions: 0, memoryBytes: 0, microCores: 0 });
      for (const host of cluster.hosts.values()) {
        expect([...cluster.servicesAt(host.id)]).toEqual([]);
        expect(host.reservedMemoryBytes).toBe(0);
        expect(host.reservedCores).toBeCloseTo(0, 6);
      }
      expect(simulation.hosts.flatMap((host) => host.containers)).toEqual([]);
    },
    () => {},
  );
  expect(ends).toBeGreaterThan(10);
});
