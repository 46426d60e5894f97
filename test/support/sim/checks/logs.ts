/**
 * Log check: the bytes that a subscriber receives are a prefix of what the starts of the service wrote, one
 * start after the other. A clean end comes once, after the last byte, and only if no more output can follow.
 */
import { lineOf } from '../machine/container.ts';
import type { World } from '../world/time.ts';
import type { ContainerCheck } from './containers.ts';
import { isEnded, type Ledger } from './ledger.ts';

/** The note in place of output that the host could not store, after the end of a line that may be open. */
const LOST = /^$|^\[berth\] Output is missing here: the host could not store it/;

export class ReceivedLog {
  readonly service: number;
  #text = '';
  /** Lines received of each start. */
  readonly #read = new Map<number, number>();
  #generation = 0;
  #isClosed = false;
  readonly #logs: LogCheck;

  constructor(logs: LogCheck, service: number) {
    this.#logs = logs;
    this.service = service;
  }

  receive(bytes: Uint8Array): void {
    const { world } = this.#logs;
    if (this.#isClosed) world.violate(`the log of service ${this.service} continues after its end`);
    const piece = Buffer.from(bytes).toString();
    // A piece by itself, not output (H827).
    if (/^\n?\[berth] Host \S+ is lost\./.test(piece)) return;
    world.count('log: bytes', bytes.length);
    const lines = (this.#text + piece).split('\n');
    this.#text = lines.pop() ?? '';
    for (const line of lines) this.#line(line);
  }

  #line(line: string): void {
    const { world } = this.#logs;
    if (LOST.test(line) && this.#logs.lost.has(this.service)) return;
    const [key = '', at] = line.split(':');
    const [service, generation] = key.split('.').map(Number);
    if (service !== this.service || generation === undefined || generation < this.#generation) {
      world.violate(
        `the log of service ${this.service}, at generation ${this.#generation}, has the line ${line}`,
      );
      return;
    }
    if (generation > this.#generation) this.#passTo(generation);
    const expected = this.#read.get(generation) ?? 0;
    if (line !== lineOf(key, expected) && !this.#logs.copiedTwice.has(key))
      world.violate(`the log of ${key} has, in place of line ${expected}: ${line}`);
    this.#read.set(generation, Number(at) + 1);
  }

  /**
   * Advances to a later start. Every earlier start must have been read completely or be allowed to have no
   * log.
   */
  #passTo(generation: number): void {
    for (let one = Math.max(1, this.#generation); one < generation; one++)
      this.#logs.isComplete(this.service, one, this.#read.get(one) ?? 0);
    this.#generation = generation;
  }

  /** Handles a clean end of the stream. */
  ended(): void {
    const { world } = this.#logs;
    world.count('log: ended');
    if (this.#isClosed) world.violate(`the log of service ${this.service} ends twice`);
    if (this.#text !== '') world.violate(`the log of service ${this.service} ends in the middle of a line`);
    this.#isClosed = true;
    const last = this.#logs.lastStart(this.service);
    this.#passTo(Math.max(last, this.#generation) + 1);
  }

  /** Handles a stream that broke off with an error, which the subscriber can see. */
  broken(): void {
    this.#logs.world.count('log: failed');
    this.#isClosed = true;
  }
}

/** Starts that may have no log. */
export interface ExpectedGaps {
  /** Services that have been on more than one host. */
  moved: ReadonlySet<number>;
  /** Failed starts, by `service.generation`. */
  failed: ReadonlySet<string>;
}

export class LogCheck {
  readonly world: World;
  readonly #ledger: Ledger;
  readonly #containers: ContainerCheck;
  readonly #expectedGaps: ExpectedGaps;
  /** Starts whose output the documents allow to be lost, by `service.generation`. */
  readonly waived = new Set<string>();
  /** Starts whose output two agents on one machine may both have copied into one file. */
  readonly copiedTwice = new Set<string>();
  /** Services whose agent logged that output was lost. */
  readonly lost = new Set<number>();

  constructor(world: World, ledger: Ledger, containers: ContainerCheck, expectedGaps: ExpectedGaps) {
    this.world = world;
    this.#ledger = ledger;
    this.#containers = containers;
    this.#expectedGaps = expectedGaps;
  }

  /** Checks a start after which the log continues with another, or ends. */
  isComplete(service: number, generation: number, lines: number): void {
    const start = this.#containers.started.get(`${service}.${generation}`);
    const written = start?.container.records.length ?? 0;
    if (lines === written) return;
    const key = `${service}.${generation}`;
    // A log is that of the service's last host, and a failed start may have none.
    const none = lines === 0 && (this.#expectedGaps.moved.has(service) || this.#expectedGaps.failed.has(key));
    const isWaived = none || this.#isDeleted(service) || this.lost.has(service) || this.waived.has(key);
    if (isWaived) this.world.count('log: missing as documented');
    else this.world.violate(`the log of ${service}.${generation} has ${lines} of ${written} lines`);
  }

  /** Logs of deleted executions are removed. */
  #isDeleted(service: number): boolean {
    const execution = Number(this.#ledger.services.get(service)?.execution_id);
    return this.#ledger.executions.get(execution)?.deleted !== 0;
  }

  /** The start after which the log of a service ends. */
  lastStart(service: number): number {
    const row = this.#ledger.services.get(service);
    const execution = this.#ledger.executionOf(service);
    const isOver = !execution || isEnded(execution) || execution.status === 'cleaning up';
    if (!isOver && (row?.exit ?? null) === null) {
      // A monitor service had exited when the log ended, and was started again before the subscriber read on.
      const exited = this.#ledger.exits.get(service);
      if (exited !== undefined) return exited;
      this.world.violate(`the log of service ${service} ends while its execution is ${execution.status}`);
    }
    if (row) return Number(row.generation);
    return Math.max(
      0,
      ...[...this.#containers.started.keys()].flatMap((key) => {
        const [of, generation] = key.split('.').map(Number);
        return of === service && generation !== undefined ? [generation] : [];
      }),
    );
  }
}
