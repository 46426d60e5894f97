/** Faults of control planes and of their database, and what users and administrators do to them. */
import type { Simulation } from '../simulation.ts';
import { USERS } from '../workload/users.ts';
import type { CommitFault } from '../world/store.ts';
import { type Fault, jump, SECOND_MS, set } from './fault.ts';
import type { FaultName } from './fault-names.ts';

const commits =
  (fault: CommitFault): Fault =>
  ({ store }) => {
    store.faults.push(fault);
    return true;
  };

/** A quiet one is served by agents only. */
function startSecond(simulation: Simulation, isQuiet: boolean): boolean {
  const [old] = simulation.controlPlanes;
  if (!old || simulation.controlPlanes.length > 1) return false;
  const { world, network, scheduling } = simulation;
  // The two control planes never contact each other; each can learn of the other only through agents.
  old.isQuiet = isQuiet;
  if (old.isQuiet) for (const link of [...network.links]) if (world.chance(0.5)) link.cut('a fault');
  simulation.startControlPlane();
  const forMs = old.isQuiet ? 2 * scheduling.lostAfterMs + 60 * SECOND_MS : 40 * SECOND_MS;
  simulation.faults.undoAfter(world.between(1, forMs), () => simulation.end(old));
  return true;
}

export const planeFaults = {
  'control plane killed': (simulation) => {
    simulation.restart();
    return true;
  },
  'control plane killed at a step': ({ world, controlPlanes }) => {
    const one = controlPlanes.at(-1);
    if (one) one.process.crashIn = world.between(0, 40);
    return one !== undefined;
  },
  'control plane down for long': (simulation) => {
    simulation.restart(undefined, simulation.world.between(30 * SECOND_MS, 200 * SECOND_MS));
    return true;
  },
  'second control plane': (simulation) => startSecond(simulation, simulation.world.chance(0.3)),
  // The earlier one does not know the host, and must not tell its agent that it was removed.
  'host joins beside a second control plane': (simulation) => {
    const { world, machines, administrator } = simulation;
    if (!startSecond(simulation, true)) return false;
    const machine = world.pick(machines);
    machine.shutDown();
    world.after(world.between(SECOND_MS, 5 * SECOND_MS), () => {
      if (!machine.powered) administrator.remove(machine, true);
      machine.powerOn();
    });
    simulation.faults.undoAfter(10 * SECOND_MS, () => machine.powerOn());
    return true;
  },
  'clock of the control plane jumps': (simulation) => {
    const one = simulation.controlPlanes.at(-1);
    if (one) simulation.jump(one, jump(simulation));
    return one !== undefined;
  },

  'commit refused': commits('refused'),
  'commit applied but reported as failed': commits('applied but reported as failed'),
  'commit applied later but reported as failed': commits('applied later but reported as failed'),
  'database unavailable': (simulation) => {
    const undo = set(simulation.store, 'unavailable', true, false);
    simulation.faults.undoAfter(simulation.world.between(1, 200 * SECOND_MS), undo);
    return true;
  },
  'database slow': (simulation) => {
    simulation.faults.slowDatabase(simulation.world.between(1, 30 * SECOND_MS));
    return true;
  },

  'quota lowered': (simulation) => {
    const { world, users } = simulation;
    void users.setCaps(world.between(1, 2), world.between(10, 50), world.between(1, 2));
    simulation.faults.undoAfter(world.between(SECOND_MS, 40 * SECOND_MS), () => void users.setCaps(3, 80, 2));
    return true;
  },
  'a user floods the queue': ({ world, users }) => {
    if ((world.counts.get('fault: a user floods the queue') ?? 0) > 0) return false;
    users.flood(world.pick(USERS));
    return true;
  },
  '200 submissions at once': ({ world, users }) => {
    // Once per run, since the executions take long to finish.
    if ((world.counts.get('fault: 200 submissions at once') ?? 0) > 0) return false;
    users.burst(200);
    return true;
  },
} satisfies Partial<Record<FaultName, Fault>>;
