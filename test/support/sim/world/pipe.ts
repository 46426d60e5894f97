/** One direction of a connection. Frames arrive later and in order, or wait while the route is cut. */
import type { Process, World } from './time.ts';

/** State of the network path between a machine and the control planes. */
export class Route {
  /** Earliest arrival time of anything that is sent. */
  stalledUntilMs = 0;
  /** New connections are cut at this frame, counted from 0; null means never. */
  framesToCut: number | null = null;
  /** New connections lose one or both directions at this frame, without an error; null means never. */
  framesToHalfOpen: number | null = null;
  /** True while nothing passes and neither side receives an error. */
  isCut = false;
  readonly #parked = new Set<() => void>();

  cut(): void {
    this.isCut = true;
  }

  /** Delivers what waited, as TCP does by retransmission. */
  heal(): void {
    this.isCut = false;
    const parked = [...this.#parked];
    this.#parked.clear();
    for (const resume of parked) resume();
  }

  park(resume: () => void): void {
    this.#parked.add(resume);
  }
}

interface Item {
  readyMs: number;
  run: () => void;
}

export class Pipe {
  /** Discards all further arrivals without an error. */
  isBlackhole = false;
  readonly #world: World;
  readonly #route: Route;
  readonly #receiver: Process;
  readonly #items: Item[] = [];
  #pumping = false;

  constructor(world: World, route: Route, receiver: Process) {
    this.#world = world;
    this.#route = route;
    this.#receiver = receiver;
  }

  /** Calls `run` for the receiver once everything sent earlier has arrived. */
  send(run: () => void): void {
    const latencyMs = this.#world.between(1, 4) / 4;
    this.#items.push({ readyMs: Math.max(this.#world.nowMs + latencyMs, this.#route.stalledUntilMs), run });
    if (!this.#pumping) this.#pump();
  }

  #pump(): void {
    const item = this.#items[0];
    this.#pumping = item !== undefined;
    if (item) this.#world.after(item.readyMs - this.#world.nowMs, () => this.#deliver());
  }

  #deliver(): void {
    if (this.#route.isCut) {
      this.#route.park(() => this.#deliver());
      return;
    }
    const item = this.#items.shift();
    if (item && !this.isBlackhole && this.#receiver.alive) this.#world.enter(this.#receiver, item.run);
    this.#pump();
  }
}
