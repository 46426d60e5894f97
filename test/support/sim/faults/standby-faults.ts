/**
 * Worlds with standbys: two or three control planes with BERTH_STANDBY=on, of which the active one is killed
 * or disturbed again and again. Everything here is drawn apart from the other choices of a seed, so that
 * worlds without standbys stay as they are.
 */

import { pickOne, seededRandom } from '../../tools/random.ts';
import type { ControlPlane, StandbyPlace } from '../plane/control-plane.ts';
import type { Simulation } from '../simulation.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from './fault.ts';

/** Share of the seeds whose worlds have standbys. */
const SHARE = 0.2;
const PORTS = [5001, 5002, 5003];
const STREAM = 1_000_003;

export const hasStandby = (seed: number): boolean => seededRandom(seed + STREAM)() < SHARE;

export class StandbyFaults {
  /** How many control planes a supervisor keeps running. */
  readonly planes: number;
  readonly #random: () => number;
  readonly #isSkewed: boolean;

  constructor(seed: number) {
    this.#random = seededRandom(seed + 2 * STREAM);
    this.planes = this.#random() < 0.3 ? 3 : 2;
    this.#isSkewed = this.#random() < 0.5;
  }

  /** The setting BERTH_URL of agents. */
  get urls(): string {
    return PORTS.slice(0, this.planes)
      .map((port) => `http://127.0.0.1:${port}`)
      .join();
  }

  /** A place for one more control plane. */
  place(others: readonly ControlPlane[]): StandbyPlace {
    const port = PORTS.find((one) => !others.some((other) => other.port === one)) ?? 0;
    const skewMs = this.#isSkewed
      ? (pickOne(this.#random, [0, 20 * SECOND_MS, -MINUTE_MS, HOUR_MS, -HOUR_MS]) ?? 0)
      : 0;
    return { port, skewMs };
  }

  /** Begins to disturb control planes, until the faults stop. */
  begin(simulation: Simulation): void {
    const { world, faults } = simulation;
    world.after(this.#between(SECOND_MS, 25 * SECOND_MS), () => {
      if (faults.hasStopped) return;
      this.#disturb(simulation);
      this.begin(simulation);
    });
  }

  #disturb(simulation: Simulation): void {
    const { world, store, faults, controlPlanes } = simulation;
    const active = controlPlanes.find(({ isWaiting }) => !isWaiting);
    const waiting = controlPlanes.find(({ isWaiting }) => isWaiting);
    const what = this.#random();
    const forMs = this.#between(SECOND_MS, 40 * SECOND_MS);
    if (what < 0.15) {
      world.note('STANDBY FAULT a standby is killed');
      if (waiting) simulation.restart(waiting, this.#between(10, 5 * SECOND_MS));
    } else if (!active) return;
    else if (what < 0.6) {
      world.note('STANDBY FAULT the active control plane is killed');
      simulation.restart(active, this.#between(10, 20 * SECOND_MS));
    } else if (what < 0.8) {
      world.note(`STANDBY FAULT ${active.name} is cut off from the database`);
      store.disturbed.set(active.process, 'cut off');
      faults.undoAfter(forMs, () => store.disturbed.delete(active.process));
    } else {
      world.note(`STANDBY FAULT ${active.name} is slow`);
      store.disturbed.set(active.process, this.#between(5 * SECOND_MS, 20 * SECOND_MS));
      faults.undoAfter(forMs, () => store.disturbed.delete(active.process));
    }
    world.count('standby fault');
  }

  #between(from: number, to: number): number {
    return Math.round(from + this.#random() * (to - from));
  }
}
