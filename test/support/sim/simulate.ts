/** Runs the simulation of one seed from an empty world to its result. */
import { createHash } from 'node:crypto';
import type { FaultName } from './faults/fault-names.ts';
import { hasStandby, StandbyFaults } from './faults/standby-faults.ts';
import { Simulation } from './simulation.ts';
import { hasStreams } from './workload/stream-users.ts';
import { resetDisks } from './world/disk.ts';
import { inWorld, World } from './world/time.ts';

export interface Run {
  seed: number;
  counts: Record<string, number>;
  trace: readonly string[];
  virtualMs: number;
  failure: string | undefined;
  /** SHA-256 of the trace. */
  traceHash: string;
}

/**
 * `always` names faults that the run includes besides those that the seed draws. `standby` states whether the
 * world has standbys, and `streams` whether users open streams; by default the seed decides.
 */
export async function simulate(
  seed: number,
  always: readonly FaultName[] = [],
  standby = hasStandby(seed),
  streams = hasStreams(seed),
): Promise<Run> {
  resetDisks();
  const world = new World(seed);
  let failure: string | undefined;
  const standbyFaults = standby ? new StandbyFaults(seed) : undefined;
  await inWorld(world, () => new Simulation(world, always, standbyFaults, streams).run()).catch(
    (error: unknown) => {
      failure =
        error instanceof Error
          ? error.name === 'Violation'
            ? error.message
            : String(error.stack)
          : String(error);
    },
  );
  const { trace, ageMs: virtualMs } = world;
  const traceHash = createHash('sha256').update(trace.join('\n')).digest('hex');
  return { seed, counts: Object.fromEntries(world.counts), trace, virtualMs, failure, traceHash };
}
