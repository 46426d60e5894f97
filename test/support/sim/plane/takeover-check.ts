/**
 * Check of takeovers. A coordinator from which another one has taken over never takes over again (C121). A
 * standby takes over within 15 s after the active control plane was killed. None takes over from a control
 * plane that is alive and reaches the database (C251 to C256).
 */

import type { Change, Store } from '../world/store.ts';
import type { World } from '../world/time.ts';
import type { ControlPlane } from './control-plane.ts';

const TAKEOVER_MS = 15_000;
/** A control plane that had trouble this long ago has moved the counter since. */
const TROUBLE_MS = 20_000;

export class TakeoverCheck {
  readonly #world: World;
  readonly #store: () => Store;
  /** The control plane that read its state last, and its epoch. */
  #holder: ControlPlane | undefined;
  #epoch = 0;
  /** Names of the coordinators that have held the epoch. */
  readonly #names = new Set<unknown>();
  /** When the last takeover began. */
  #beganMs = 0;

  constructor(world: World, store: () => Store) {
    this.#world = world;
    this.#store = store;
  }

  /** Each new holder is one that has never held the epoch before. */
  check(changes: readonly Change[]): void {
    for (const { table, row } of changes) {
      if (table !== 'coordinator') continue;
      if (this.#names.has(row?.holder))
        this.#world.violate('a coordinator has taken over again although another one had taken over from it');
      this.#names.add(row?.holder);
    }
  }

  /** A standby begins to take over. It may be killed before it has read its state. */
  began(): void {
    this.#beganMs = this.#world.nowMs;
  }

  ready(plane: ControlPlane, epoch: number): void {
    // A slow one may read its state after another has taken over from it.
    if (epoch < this.#epoch) return;
    this.#epoch = epoch;
    const before = this.#holder;
    this.#holder = plane;
    if (!before || before === plane) return;
    this.#world.count('takeover: by a standby');
    if (before.process.alive && !this.#hadTrouble([before, plane], TROUBLE_MS))
      this.#world.violate(`${plane.name} took over from ${before.name}, which was alive and undisturbed`);
  }

  killed(plane: ControlPlane, waiting: readonly ControlPlane[]): void {
    if (this.#holder !== plane) return;
    const killedMs = this.#world.nowMs;
    this.#world.after(TAKEOVER_MS, () => {
      const left = waiting.filter(({ process }) => process.alive);
      // A commit of the killed one may still be under way to the database, and moves the counter late.
      if (left.length === 0 || this.#hadTrouble([plane, ...left], TAKEOVER_MS + TROUBLE_MS)) return;
      if (this.#beganMs >= killedMs) return;
      const names = left.map(({ name }) => name).join(', ');
      this.#world.violate(`${plane.name} was killed, and 15 s later neither of ${names} is active`);
    });
  }

  #hadTrouble(planes: readonly ControlPlane[], withinMs: number): boolean {
    const store = this.#store();
    return planes.some(({ process }) => this.#world.nowMs - store.troubledMs(process) < withinMs);
  }
}
