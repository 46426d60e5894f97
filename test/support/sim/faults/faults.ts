/** Faults: what can go wrong at a moment, and how each fault is undone. Faults do not depend on checks. */
import { OLDEST_PROTOCOL_VERSION, PROTOCOL_VERSION } from '../../../../shared/protocol/version.ts';
import type { Machine } from '../machine/machine.ts';
import type { Simulation } from '../simulation.ts';
import type { CommitFault } from '../world/store.ts';
import type { FaultName } from './fault-names.ts';

/** Causes the fault. Returns false if there was nothing to apply the fault to. */
type Fault = (simulation: Simulation) => boolean;

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A fault of a machine that lasts for a while. `begin` causes it and returns a function that undoes it. */
const temporary =
  (fromMs: number, toMs: number, begin: (machine: Machine, simulation: Simulation) => () => void): Fault =>
  (simulation) => {
    const { world, machines } = simulation;
    const undo = begin(world.pick(machines), simulation);
    simulation.undoAfter(world.between(fromMs, toMs), undo);
    return true;
  };

/** A temporary fault that can keep the agent from stopping containers in time. */
const impairment = (
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

const atMachine =
  (act: (machine: Machine, simulation: Simulation) => void): Fault =>
  (simulation) => {
    act(simulation.world.pick(simulation.machines), simulation);
    return true;
  };

const commits =
  (fault: CommitFault): Fault =>
  ({ store }) => {
    store.faults.push(fault);
    return true;
  };

const badPulls = (maxMs: number, pulls: 'stall' | 'fail'): Fault =>
  temporary(1, maxMs, ({ engine }) => {
    engine.forgetImages();
    engine.pulls = pulls;
    return () => {
      engine.pulls = 'normal';
    };
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

const jump = ({ world }: Simulation) =>
  world.pick([10 * SECOND_MS, HOUR_MS, 3 * DAY_MS]) * world.pick([1, 1, -1]);

/** Causes a fault, and counts it if there was something to apply it to. */
export function causeFault(name: FaultName, simulation: Simulation): void {
  simulation.world.note(`FAULT ${name}`);
  if (faults[name](simulation)) simulation.world.count(`fault: ${name}`);
}

const faults: Record<FaultName, Fault> = {
  // Connections
  'connection cut': ({ world, network }) => {
    if (network.links.size === 0) return false;
    world.pick([...network.links]).cut('a fault');
    return true;
  },
  'connections cut after a frame': temporary(1, 20 * SECOND_MS, (machine, { world, network }) => {
    machine.route.framesToCut = world.between(0, 12);
    for (const link of network.links) if (link.machine === machine.name) link.cut('a fault');
    return () => {
      machine.route.framesToCut = null;
    };
  }),
  'connections half-open after a frame': temporary(1, 10 * SECOND_MS, (machine, { world, network }) => {
    machine.route.framesToHalfOpen = world.between(0, 12);
    for (const link of network.links) if (link.machine === machine.name) link.cut('a fault');
    return () => {
      machine.route.framesToHalfOpen = null;
    };
  }),
  'connection half-open': ({ world, network }) => {
    if (network.links.size === 0) return false;
    world.pick([...network.links]).blackhole(world.chance(0.7), world.chance(0.7));
    return true;
  },
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
    simulation.undoAfter(2 * lostAfterMs + world.between(20, 70) * SECOND_MS, () => machine.route.heal());
    if (world.chance(0.5)) world.after(world.between(0, lostAfterMs), () => machine.killAgent());
    return true;
  },
  'second connection of a host': atMachine((machine) => machine.connectAgain()),

  // Agents
  'agent killed': atMachine((machine) => machine.killAgent()),
  'agent killed at a step': atMachine(({ agent }, { world }) => {
    if (agent) agent.crashIn = world.between(0, 60);
  }),
  'agent stopped': atMachine((machine) => machine.stopAgent()),
  'second agent on a machine': atMachine((machine) => machine.startAgent()),
  'agent with another protocol version': impairment(1, 60 * SECOND_MS, (machine, { world }) => {
    machine.versionOffset = world.pick([OLDEST_PROTOCOL_VERSION - PROTOCOL_VERSION, 1]);
    machine.killAgents();
    return () => {
      machine.versionOffset = 0;
      machine.killAgents();
    };
  }),
  'clock of an agent jumps': (simulation) => {
    const { agent } = simulation.world.pick(simulation.machines);
    if (agent) agent.skewMs += jump(simulation);
    return agent !== undefined;
  },

  // Control planes
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
  'second control plane': (simulation) => {
    const [old] = simulation.controlPlanes;
    if (!old || simulation.controlPlanes.length > 1) return false;
    const { world, network, scheduling } = simulation;
    // The two control planes never contact each other; each can learn of the other only through agents.
    old.isQuiet = world.chance(0.3);
    if (old.isQuiet) for (const link of [...network.links]) if (world.chance(0.5)) link.cut('a fault');
    simulation.startControlPlane();
    const forMs = old.isQuiet ? 2 * scheduling.lostAfterMs + 60 * SECOND_MS : 40 * SECOND_MS;
    simulation.undoAfter(world.between(1, forMs), () => simulation.end(old));
    return true;
  },
  'clock of the control plane jumps': (simulation) => {
    const one = simulation.controlPlanes.at(-1);
    if (one) simulation.jump(one, jump(simulation));
    return one !== undefined;
  },

  // Database
  'commit refused': commits('refused'),
  'commit applied but reported as failed': commits('applied but reported as failed'),
  'commit applied later but reported as failed': commits('applied later but reported as failed'),
  'database unavailable': (simulation) => {
    const { store, world } = simulation;
    store.unavailable = true;
    simulation.undoAfter(world.between(1, 200 * SECOND_MS), () => {
      store.unavailable = false;
    });
    return true;
  },
  'database slow': (simulation) => {
    const { store, world } = simulation;
    store.slowMs = world.between(10, 3_000);
    simulation.undoAfter(world.between(1, 30 * SECOND_MS), () => {
      store.slowMs = 0;
    });
    return true;
  },

  // Engines
  'engine slow': impairment(1, 60 * SECOND_MS, ({ engine }, { world }) => {
    engine.slowMs = world.between(100, 20_000);
    return () => {
      engine.slowMs = 0;
    };
  }),
  'engine hangs': impairment(1, 150 * SECOND_MS, ({ engine }) => {
    engine.hanging = true;
    return () => {
      engine.hanging = false;
    };
  }),
  'engine restarts': impairment(100, 30 * SECOND_MS, (machine, { world }) => {
    const { engine } = machine;
    engine.stopServing(world.chance(0.5));
    return () => {
      if (machine.powered) engine.down = false;
    };
  }),
  'engine answers 500': impairment(1, 60 * SECOND_MS, ({ engine }, { world }) => {
    engine.failing = world.pick([0.1, 0.5, 1]);
    return () => {
      engine.failing = 0;
    };
  }),
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
  'disk full': impairment(1, 60 * SECOND_MS, ({ disk }) => {
    disk.full = true;
    return () => {
      disk.full = false;
    };
  }),

  // Hosts
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
  'host drained': temporary(SECOND_MS, 60 * SECOND_MS, (machine, { administrator }) => {
    administrator.drain(machine, false);
    return () => administrator.open(machine);
  }),
  'host drained by force': temporary(SECOND_MS, 60 * SECOND_MS, (machine, { administrator }) => {
    administrator.drain(machine, true);
    return () => administrator.open(machine);
  }),
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

  'quota lowered': (simulation) => {
    const { world, users } = simulation;
    void users.setCaps(world.between(1, 2), world.between(10, 50), world.between(1, 2));
    simulation.undoAfter(world.between(SECOND_MS, 40 * SECOND_MS), () => void users.setCaps(3, 80, 2));
    return true;
  },
  '200 submissions at once': ({ world, users }) => {
    // Once per run, since the executions take long to finish.
    if ((world.counts.get('fault: 200 submissions at once') ?? 0) > 0) return false;
    users.burst(200);
    return true;
  },
};
