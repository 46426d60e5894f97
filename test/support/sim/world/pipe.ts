/** Owns one direction of a connection: what is sent arrives later, in order, or waits while nothing gets through. */
import type { Process, World } from './time.ts';

/** How the way between a machine and the control planes is. */
export class Route {
  /** What is sent arrives at this time at the earliest. */
  stalledUntilMs = 0;
  /** Connections that begin are cut at this frame, counted from 0. */
  framesToCut: number | null = null;
  /** From this frame on they lose one direction or both, without a word. */
  framesToHalfOpen: number | null = null;
  #isCut = false;
  readonly #parked = new Set<() => void>();

  /** Nothing gets through, and nobody is told. */
  get isCut(): boolean {
    return this.#isCut;
  }

  cut(): void {
    this.#isCut = true;
  }

  /** What waited gets through: TCP has sent it again and again. */
  heal(): void {
    this.#isCut = false;
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
  /** What arrives is lost without a word, for ever. */
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

  /** Does something for the reader when all that was sent before has arrived. */
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
