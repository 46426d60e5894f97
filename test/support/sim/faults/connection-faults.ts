/** Faults of connections, and of the agents at their ends. */
import type { Simulation } from '../simulation.ts';
import type { Link } from '../world/network.ts';
import {
  atMachine,
  DAY_MS,
  type Fault,
  HOUR_MS,
  impairment,
  jump,
  SECOND_MS,
  set,
  temporary,
} from './fault.ts';
import type { FaultName } from './fault-names.ts';
import { sendForgeries } from './hostile-agent.ts';

/** A fault of a connection. `act` may return false, as a fault does. */
const atLink =
  (act: (link: Link, simulation: Simulation) => unknown): Fault =>
  (simulation) => {
    const { world, network } = simulation;
    if (network.links.size === 0) return false;
    return act(world.pick([...network.links]), simulation) !== false;
  };

export const connectionFaults = {
  'connection cut': atLink((link) => link.cut('a fault')),
  'connections cut after a frame': temporary(1, 20 * SECOND_MS, (machine, { world, network }) => {
    const undo = set(machine.route, 'framesToCut', world.between(0, 12), null);
    for (const link of network.links) if (link.machine === machine.name) link.cut('a fault');
    return undo;
  }),
  'connections half-open after a frame': temporary(1, 10 * SECOND_MS, (machine, { world, network }) => {
    const undo = set(machine.route, 'framesToHalfOpen', world.between(0, 12), null);
    for (const link of network.links) if (link.machine === machine.name) link.cut('a fault');
    return undo;
  }),
  'connection half-open': atLink((link, { world }) => link.blackhole(world.chance(0.7), world.chance(0.7))),
  // The control plane notices the end of a connection when the next one has begun.
  'connection closes during the next hello': atLink((link, { world, faults }) => {
    faults.slowDatabase(10 * SECOND_MS, 3 * SECOND_MS);
    link.cut('a fault', world.between(200, 4 * SECOND_MS));
  }),
  'network slow': atMachine((machine, { world }) => {
    machine.route.stalledUntilMs = world.nowMs + world.between(1, 50 * SECOND_MS);
  }),
  'network partitioned': temporary(1, 200 * SECOND_MS, ({ route }) => {
    route.cut();
    return () => route.heal();
  }),
  'host partitioned': (simulation) => {
    const { world, machines, scheduling } = simulation;
    const { lostAfterMs } = scheduling;
    const machine = world.pick(machines);
    machine.route.cut();
    // Lasts long enough for the services to be restarted elsewhere.
    simulation.faults.undoAfter(2 * lostAfterMs + world.between(20, 70) * SECOND_MS, () =>
      machine.route.heal(),
    );
    if (world.chance(0.5)) world.after(world.between(0, lostAfterMs), () => machine.killAgent());
    return true;
  },
  // The agent may still be stopping its containers then, since its lease has just expired.
  'clock jumps after a host is lost': (simulation) => {
    const { world, machines, scheduling } = simulation;
    const { lostAfterMs } = scheduling;
    const machine = world.pick(machines);
    machine.route.cut();
    world.after(lostAfterMs + world.between(0, 12 * SECOND_MS), () => {
      const one = simulation.controlPlanes.at(-1);
      if (one) simulation.jump(one, world.pick([HOUR_MS, 3 * DAY_MS]));
    });
    simulation.faults.undoAfter(2 * lostAfterMs + world.between(20, 70) * SECOND_MS, () =>
      machine.route.heal(),
    );
    return true;
  },
  'second connection of a host': atMachine((machine) => machine.connectAgain()),

  'agent killed': atMachine((machine) => machine.killAgent()),
  'agent killed at a step': atMachine(({ agent }, { world }) => {
    if (agent) agent.crashIn = world.between(0, 60);
  }),
  'agent stopped': atMachine((machine) => machine.stopAgent()),
  'second agent on a machine': atMachine((machine) => machine.startAgent()),
  // The earlier agent reports while the hello of its successor is being committed.
  'agent superseded during a slow commit': impairment(SECOND_MS, 60 * SECOND_MS, (machine, { faults }) => {
    faults.slowDatabase(10 * SECOND_MS, 3 * SECOND_MS);
    machine.loseLease();
    machine.startAgent();
    return () => machine.killAgents();
  }),
  // Such a start often ends between the agent's hello and the sync.
  'start fails during a reconnect': atMachine((machine, simulation) => {
    machine.engine.onNextStart = () => {
      const { world, network } = simulation;
      simulation.faults.slowDatabase(10 * SECOND_MS, 3 * SECOND_MS);
      for (const link of network.links) if (link.machine === machine.name) link.cut('a fault');
      const afterMs = world.between(200, 2 * SECOND_MS);
      if (world.chance(0.3)) world.after(afterMs + world.between(1, SECOND_MS), () => machine.killAgent());
      return { afterMs, kind: world.pick(['temporary', 'permanent']) };
    };
  }),
  'agent with another protocol': impairment(1, 60 * SECOND_MS, (machine) => {
    machine.isForeign = true;
    machine.killAgents();
    return () => {
      machine.isForeign = false;
      machine.killAgents();
    };
  }),
  'agent without the record of its lease': atMachine((machine) => {
    machine.loseLease();
    machine.killAgents();
  }),
  'clock of an agent jumps': (simulation) => {
    const { agent } = simulation.world.pick(simulation.machines);
    if (agent) agent.skewMs += jump(simulation);
    return agent !== undefined;
  },

  'hostile messages from an agent': atLink(sendForgeries),
} satisfies Partial<Record<FaultName, Fault>>;
