/**
 * How much each host may send: a burst, and then a steady rate (P152). An allowance lasts longer than a
 * connection, so that a host gains nothing by a new one.
 */

import type { Clock } from '../coordinator/ports.ts';
import { Allowance } from './allowance.ts';

/** The two longest messages. */
const DEFAULT_MAX_BYTES = 32 * 1024 * 1024;
/** What messages cost at least, in bytes: each one takes time, on some runtimes more than on others. */
export interface MessageCosts {
  /** A message of the host's own. */
  own: number;
  /** A part or the end of a log, whatever its length: readers cause it, who may also leave at any time. */
  requested: number;
}

const DEFAULT_COSTS: MessageCosts = { own: 1_024, requested: 64 };

export interface AllowanceOptions {
  maxBytes?: number | undefined;
  costs?: MessageCosts | undefined;
}

type Exceeded = (hostId: number, maxBytes: number) => void;

export class MessageAllowances {
  readonly #maxBytes: number;
  readonly #costs: MessageCosts;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #exceeded: Exceeded;
  /** By host id, for every host that has connected. */
  readonly #allowances = new Map<number, Allowance>();

  /** Calls `exceeded` for a host that sends more than its allowance, at most once a minute. */
  constructor(options: AllowanceOptions, clock: Pick<Clock, 'monotonicMs'>, exceeded: Exceeded) {
    this.#maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES;
    this.#costs = options.costs ?? DEFAULT_COSTS;
    this.#clock = clock;
    this.#exceeded = exceeded;
  }

  /** Counts a message. Returns the time in ms until the next one is within the allowance. */
  use(hostId: number, length: number, requested: boolean): number {
    const cost = requested ? this.#costs.requested : Math.max(length, this.#costs.own);
    const nowMs = this.#clock.monotonicMs();
    const allowance = this.#allowances.get(hostId) ?? new Allowance(this.#maxBytes, nowMs);
    this.#allowances.set(hostId, allowance);
    const waitMs = allowance.use(cost, nowMs);
    if (waitMs > 0 && allowance.isReportDue(nowMs)) this.#exceeded(hostId, this.#maxBytes);
    return waitMs;
  }
}
