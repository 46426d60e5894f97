/** Causes faults while users act, undoes them, and stops them. Each run has a few kinds of faults. */
import type { Simulation } from '../simulation.ts';
import { set } from './fault.ts';
import { type FaultName, faultNames, type GatewayFaultName, gatewayFaultNames } from './fault-names.ts';
import { causeFault } from './faults.ts';

export class FaultInjector {
  /** After the faults, new containers run until they are stopped. */
  hasStopped = false;
  readonly #simulation: Simulation;
  readonly #always: readonly FaultName[];
  readonly #heals = new Set<() => void>();

  /** `always` names faults that the run includes besides those that its seed draws. */
  constructor(simulation: Simulation, always: readonly FaultName[]) {
    this.#simulation = simulation;
    this.#always = always;
  }

  /** Lets users act and faults happen for a while. */
  async run(): Promise<void> {
    const { world, users, scheduling } = this.#simulation;
    const drawn = Array.from({ length: world.between(2, 7) }, () => world.pick(faultNames));
    const kinds = [...drawn, ...this.#always.filter((name) => !isOfGateways(name))];
    const { hostLossPolicy, lostAfterMs } = scheduling;
    if (hostLossPolicy === 'requeue') kinds.push('host partitioned');
    world.note(`faults: ${kinds.join(', ')}; lost hosts: ${hostLossPolicy} after ${lostAfterMs} ms`);
    // Requeueing takes longer, because the liveness deadline and the lease must pass first.
    const pace = hostLossPolicy === 'requeue' ? 2 : 1;
    const untilMs = world.nowMs + pace * world.between(30_000, 100_000);
    this.#beginGatewayFaults();
    await world.run(world.between(0, 6_000));
    while (world.nowMs < untilMs) {
      for (let acts = world.between(0, 3); acts > 0; acts--) users.act();
      if (world.chance(0.4)) causeFault(world.pick(kinds), this.#simulation);
      await world.run(pace * world.between(1, 6_000));
    }
  }

  /** Causes faults of gateways at their own pace, by their own random choices. */
  #beginGatewayFaults(): void {
    const { world, gateways } = this.#simulation;
    if (!gateways) return;
    const { calls } = gateways;
    const drawn = Array.from({ length: calls.between(0, 4) }, () => calls.pick(gatewayFaultNames));
    const kinds: GatewayFaultName[] = [...drawn, ...this.#always.filter(isOfGateways)];
    world.note(`faults of gateways: ${kinds.join(', ')}`);
    if (kinds.length === 0) return;
    const next = () => {
      if (this.hasStopped) return;
      causeFault(calls.pick(kinds), this.#simulation);
      world.after(calls.between(1, 15_000), next);
    };
    world.after(calls.between(1, 15_000), next);
  }

  /** Calls `undo` after `forMs`, or when the faults stop if that is earlier. */
  undoAfter(forMs: number, undo: () => void): void {
    const heal = () => {
      if (this.#heals.delete(heal)) undo();
    };
    this.#heals.add(heal);
    this.#simulation.world.after(forMs, heal);
  }

  /** Lets each call of the database take up to `slowMs`. */
  slowDatabase(forMs: number, slowMs = this.#simulation.world.between(10, 3_000)): void {
    this.undoAfter(forMs, set(this.#simulation.store, 'slowMs', slowMs, 0));
  }

  /** Undoes the faults that last, and withdraws those that have not happened yet. */
  stop(): void {
    const { world, store, machines, controlPlanes, removeOnStart } = this.#simulation;
    world.note('FAULTS END');
    this.hasStopped = true;
    for (const heal of [...this.#heals]) heal();
    store.faults.length = 0;
    removeOnStart.clear();
    for (const one of [...controlPlanes]) one.process.crashIn = null;
    for (const machine of machines) {
      machine.engine.onNextStart = undefined;
      if (machine.agent) machine.agent.crashIn = null;
      machine.powerOn();
    }
  }
}

const isOfGateways = (name: FaultName): name is GatewayFaultName =>
  (gatewayFaultNames as readonly FaultName[]).includes(name);
