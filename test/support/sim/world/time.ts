/**
 * Virtual time: the only event queue of a simulated world, and the timers and clocks of the programs in it.
 * All work that follows from one event finishes before the next event. No code waits for real time.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Choices, seededRandom } from '../../tools/random.ts';

/** A program in the simulated world. Its timers end with it, and its clock may be wrong. */
export class Process {
  readonly name: string;
  alive = true;
  /** Difference of its clock from the true time. */
  skewMs = 0;
  /**
   * The process is killed at this many steps from now. A step is before or after a call to something outside
   * the process.
   */
  crashIn: number | null = null;

  constructor(name: string) {
    this.name = name;
  }
}

interface Event {
  timeMs: number;
  order: number;
  run: () => void;
  process: Process | undefined;
  cancelled: boolean;
}

const BEGIN_MS = 1_700_000_000_000;

const real = {
  ...{ setTimeout, clearTimeout, setInterval, clearInterval, setImmediate },
  date: Date.now,
  random: Math.random,
  numbers: crypto.getRandomValues,
  monotonic: performance.now,
};
const context = new AsyncLocalStorage<Process | undefined>();
let current: World | undefined;

export function world(): World {
  if (!current) throw new Error('no world is being simulated');
  return current;
}

/** The process on whose behalf the code runs. */
export const currentProcess = (): Process | undefined => context.getStore();

export class World extends Choices {
  nowMs = BEGIN_MS;
  readonly seed: number;
  /** A stream of its own, for choices that must not move those of existing seeds. */
  readonly randomApart: () => number;
  /** One line for each thing that happened. */
  readonly trace: string[] = [];
  /** How often each kind of thing happened. */
  readonly counts = new Map<string, number>();
  /** Called when a process reaches the step at which it must be killed. */
  crash: (process: Process) => void = () => {};
  #failure: Error | undefined;
  readonly #events = new Heap();
  #order = 0;

  constructor(seed: number) {
    super(seededRandom(seed));
    this.seed = seed;
    this.randomApart = seededRandom(seed ^ 0x5eed_a9a7);
  }

  /** Milliseconds since the world began. */
  get ageMs(): number {
    return this.nowMs - BEGIN_MS;
  }

  /** Calls `run` after `delayMs`, unless `process` has ended by then. */
  after(delayMs: number, run: () => void, process?: Process): Event {
    const timeMs = this.nowMs + Math.max(0, delayMs);
    const event = { timeMs, order: this.#order++, run, process, cancelled: false };
    this.#events.add(event);
    return event;
  }

  pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve));
  }

  /** Runs all events of the next `durationMs`. Throws the first violation. */
  async run(durationMs: number): Promise<void> {
    const untilMs = this.nowMs + durationMs;
    for (let event = this.#events.take(untilMs); event; event = this.#events.take(untilMs)) {
      if (event.cancelled || event.process?.alive === false) continue;
      this.nowMs = event.timeMs;
      this.enter(event.process, event.run);
      await new Promise((resolve) => real.setImmediate(resolve));
      this.demandNoViolation();
    }
    this.nowMs = untilMs;
  }

  /** Runs code on behalf of a process. */
  enter<T>(process: Process | undefined, run: () => T): T {
    return context.run(process, run);
  }

  note(line: string): void {
    this.trace.push(`${(this.ageMs / 1000).toFixed(3)} ${line}`);
  }

  count(what: string, times = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + times);
  }

  /** Reports a broken promise. The first violation ends the run. */
  violate(what: string): void {
    this.note(`VIOLATED ${what}`);
    this.#failure ??= new Violation(what);
  }

  demandNoViolation(): void {
    if (this.#failure) throw this.#failure;
  }

  /**
   * One step of a process towards the outside, at which it may be killed. Returns false if the process is
   * dead.
   */
  step(process: Process | undefined, label: string): boolean {
    if (!process) return true;
    if (!process.alive) return false;
    if (process.crashIn === null || process.crashIn-- > 0) return true;
    process.crashIn = null;
    this.note(`${process.name} is killed at ${label}`);
    this.crash(process);
    return process.alive;
  }
}

/** Passes an answer on only while the caller is alive. For a dead caller the promise never settles. */
export function ifAlive<T>(caller: Process | undefined, answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const isThere = () => caller === undefined || caller.alive;
    answer.then(
      (value) => isThere() && resolve(value),
      (error) => isThere() && reject(error),
    );
  });
}

/** A broken promise that a check found. */
export class Violation extends Error {
  override name = 'Violation';
}

/** Runs `run` with this world's time and random numbers in place of the machine's. */
export async function inWorld<T>(one: World, run: () => Promise<T>): Promise<T> {
  const unhandled = (error: unknown) =>
    one.violate(`an error was not handled: ${error instanceof Error ? error.stack : error}`);
  process.on('unhandledRejection', unhandled);
  current = one;
  replaceGlobals();
  try {
    return await run();
  } finally {
    restoreGlobals();
    current = undefined;
    // Waits for the rejections of the last event.
    await new Promise((resolve) => real.setImmediate(resolve));
    process.off('unhandledRejection', unhandled);
  }
}

const skewOf = () => context.getStore()?.skewMs ?? 0;

function replaceGlobals(): void {
  const timer = (run: (...given: unknown[]) => void, delayMs: number, every: boolean, given: unknown[]) => {
    const owner = context.getStore();
    return new Timer(() => run(...given), delayMs, every, owner);
  };
  Object.assign(globalThis, {
    setTimeout: (run: () => void, delayMs = 0, ...given: unknown[]) => timer(run, delayMs, false, given),
    setInterval: (run: () => void, delayMs = 0, ...given: unknown[]) => timer(run, delayMs, true, given),
    clearTimeout: (one: Timer | undefined) => one?.cancel(),
    clearInterval: (one: Timer | undefined) => one?.cancel(),
  });
  Date.now = () => Math.floor(world().nowMs + skewOf());
  performance.now = () => world().nowMs;
  Math.random = () => world().random();
  let numbers = 0;
  // As long as none occurs twice, they need not be random.
  crypto.getRandomValues = (array) => {
    if (ArrayBuffer.isView(array)) (array as unknown as Uint32Array).fill(++numbers);
    return array;
  };
}

function restoreGlobals(): void {
  const { setTimeout, clearTimeout, setInterval, clearInterval } = real;
  Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval });
  Date.now = real.date;
  performance.now = real.monotonic;
  Math.random = real.random;
  crypto.getRandomValues = real.numbers;
}

/** Result of the simulated setTimeout and setInterval. */
class Timer {
  #event: Event;

  constructor(run: () => void, delayMs: number, every: boolean, owner: Process | undefined) {
    const fire = () => {
      if (every) this.#event = world().after(Math.max(1, delayMs), fire, owner);
      run();
    };
    this.#event = world().after(Math.max(1, delayMs), fire, owner);
  }

  cancel(): void {
    this.#event.cancelled = true;
  }

  unref(): this {
    return this;
  }
}

/** Events ordered by time; events of equal time keep the order in which they were added. */
class Heap {
  readonly #events: Event[] = [];

  add(event: Event): void {
    const events = this.#events;
    let at = events.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (isBefore(events[parent] as Event, event)) break;
      events[at] = events[parent] as Event;
      at = parent;
    }
    events[at] = event;
  }

  /** Removes and returns the first event up to `untilMs`. */
  take(untilMs: number): Event | undefined {
    const events = this.#events;
    const first = events[0];
    if (!first || first.timeMs > untilMs) return undefined;
    const last = events.pop() as Event;
    if (events.length > 0) this.#sink(last);
    return first;
  }

  #sink(event: Event): void {
    const events = this.#events;
    let at = 0;
    for (let child = 1; child < events.length; child = 2 * at + 1) {
      const right = child + 1;
      if (right < events.length && isBefore(events[right] as Event, events[child] as Event)) child = right;
      if (isBefore(event, events[child] as Event)) break;
      events[at] = events[child] as Event;
      at = child;
    }
    events[at] = event;
  }
}

const isBefore = (a: Event, b: Event): boolean =>
  a.timeMs < b.timeMs || (a.timeMs === b.timeMs && a.order < b.order);
