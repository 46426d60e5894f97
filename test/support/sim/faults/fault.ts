/** What a fault is, and how faults of one machine are built. Faults do not depend on checks. */
import type { Machine } from '../machine/machine.ts';
import type { Simulation } from '../simulation.ts';

/** Causes the fault. Returns false if there was nothing to apply the fault to. */
export type Fault = (simulation: Simulation) => boolean;

export const SECOND_MS = 1000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** A fault of a machine that lasts for a while. `begin` causes it and returns a function that undoes it. */
export const temporary =
  (fromMs: number, toMs: number, begin: (machine: Machine, simulation: Simulation) => () => void): Fault =>
  (simulation) => {
    const { world, machines } = simulation;
    const undo = begin(world.pick(machines), simulation);
    simulation.faults.undoAfter(world.between(fromMs, toMs), undo);
    return true;
  };

/** A temporary fault that can keep the agent from stopping containers in time. */
export const impairment = (
  fromMs: number,
  toMs: number,
  begin: (machine: Machine, simulation: Simulation) => () => void,
): Fault =>
  temporary(fromMs, toMs, (machine, simulation) => {
    const undo = begin(machine, simulation);
    return () => {
      undo();
      machine.markImpaired();
    };
  });

/** Sets a property. Returns a function that gives it its usual value again. */
export function set<T, Name extends keyof T>(of: T, name: Name, value: T[Name], usual: T[Name]): () => void {
  of[name] = value;
  return () => {
    of[name] = usual;
  };
}

export const atMachine =
  (act: (machine: Machine, simulation: Simulation) => void): Fault =>
  (simulation) => {
    act(simulation.world.pick(simulation.machines), simulation);
    return true;
  };

/** How far a clock jumps: mostly forward. */
export const jump = ({ world }: Simulation) =>
  world.pick([10 * SECOND_MS, HOUR_MS, 3 * DAY_MS]) * world.pick([1, 1, -1]);
