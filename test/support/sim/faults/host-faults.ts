/** Faults of hosts and of their engines. */
import type { Machine } from '../machine/machine.ts';
import type { Simulation } from '../simulation.ts';
import { remote } from '../workload/applications.ts';
import { atMachine, DAY_MS, type Fault, impairment, SECOND_MS, set, temporary } from './fault.ts';
import type { FaultName } from './fault-names.ts';

/** Few applications have an image that must be pulled, so the fault submits one. */
const badPulls = (maxMs: number, pulls: 'stall' | 'fail'): Fault =>
  temporary(1, maxMs, ({ engine }, { users }) => {
    engine.forgetImages();
    const undo = set(engine, 'pulls', pulls, 'normal');
    void users.submit(remote);
    return undo;
  });

/** A fault of one of Berth's containers that exist. */
const atContainer =
  (act: (simulation: Simulation, machine: Machine, id: string) => void): Fault =>
  (simulation) => {
    const all = simulation.machines.flatMap((machine) =>
      [...machine.engine.containers.values()].flatMap(({ key, id }) => (key ? [{ machine, id }] : [])),
    );
    if (all.length === 0) return false;
    const { machine, id } = simulation.world.pick(all);
    act(simulation, machine, id);
    return true;
  };

const drain = (force: boolean): Fault =>
  temporary(SECOND_MS, 60 * SECOND_MS, (machine, { administrator }) => {
    administrator.drain(machine, force);
    return () => administrator.open(machine);
  });

export const hostFaults = {
  'engine slow': impairment(1, 60 * SECOND_MS, ({ engine }, { world }) =>
    set(engine, 'slowMs', world.between(100, 20_000), 0),
  ),
  'engine hangs': impairment(1, 150 * SECOND_MS, ({ engine }) => set(engine, 'hanging', true, false)),
  'engine restarts': impairment(100, 30 * SECOND_MS, (machine, { world }) => {
    const { engine } = machine;
    engine.stopServing(world.chance(0.5));
    return () => {
      if (machine.powered) engine.down = false;
    };
  }),
  'engine answers 500': impairment(1, 60 * SECOND_MS, ({ engine }, { world }) =>
    set(engine, 'failing', world.pick([0.1, 0.5, 1]), 0),
  ),
  'pulls stall': badPulls(90 * SECOND_MS, 'stall'),
  'pulls fail': badPulls(60 * SECOND_MS, 'fail'),
  'container killed by hand': atContainer((_, { engine }, id) => engine.runtime.killByHand(id)),
  'container removed by hand': atContainer((simulation, { engine }, id) => {
    simulation.waive(id);
    engine.runtime.removeByHand(id);
  }),
  'container removed before any report': atMachine(({ name }, { removeOnStart }) => removeOnStart.add(name)),
  'container cannot be killed': atContainer(({ world }, { engine }, id) => {
    const container = engine.containers.get(id);
    if (container) container.script.immortalUntilMs = world.nowMs + world.between(1, 200 * SECOND_MS);
  }),
  'disk full': impairment(1, 60 * SECOND_MS, ({ disk }) => set(disk, 'full', true, false)),

  'host reboots': impairment(SECOND_MS, 60 * SECOND_MS, (machine) => {
    machine.powerOff();
    return () => machine.powerOn();
  }),
  'host off for days': temporary(100 * SECOND_MS, 400 * SECOND_MS, (machine, simulation) => {
    const { world, controlPlanes, machines } = simulation;
    machine.powerOff();
    // Jumps the other clocks instead of waiting for days, which would cost as many reports.
    world.after(50 * SECOND_MS, () => {
      for (const one of controlPlanes) simulation.jump(one, 3 * DAY_MS);
      for (const { agent } of machines) if (agent) agent.skewMs += 3 * DAY_MS;
    });
    return () => machine.powerOn();
  }),
  'host drained': drain(false),
  'host drained by force': drain(true),
  'host removed': atMachine((machine, { administrator }) => administrator.remove(machine, false)),
  'lost host removed': temporary(30 * SECOND_MS, 150 * SECOND_MS, (machine, simulation) => {
    const { administrator, world, scheduling } = simulation;
    machine.route.cut();
    const afterMs = scheduling.lostAfterMs + world.between(0, 20 * SECOND_MS);
    world.after(afterMs, () => administrator.remove(machine, false));
    return () => machine.route.heal();
  }),
  'host removed by force': temporary(5 * SECOND_MS, 60 * SECOND_MS, (machine, { administrator, world }) => {
    machine.shutDown();
    world.after(world.between(100, 20 * SECOND_MS), () => {
      if (!machine.powered) administrator.remove(machine, true);
    });
    return () => machine.powerOn();
  }),
} satisfies Partial<Record<FaultName, Fault>>;
