/**
 * Owns who reads streams of one kind: how many of them a user and all together have, and which of the readers are not the
 * users any more that were let in. What their streams tell is not its business.
 */

import { OperationError } from '../../core/model/errors.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import { isCurrent, type Reader } from '../../core/streams/stream-subscriber.ts';

/** A stream that is open. */
export interface Reading {
  readonly reader: Reader;
  /** Sends what means nothing, where there is such a thing: on workerd only output shows that a reader has left. */
  beat(): void;
}

export interface ReadersLimits {
  /** What they read, in the plural. */
  what: string;
  ofUser: number;
  ofAll: number;
}

/** Until then whoever has left is found out, where a beat can do that. */
const RETRY_AFTER_S = 15;

export class Readers<T extends Reading> {
  readonly #limits: ReadersLimits;
  readonly #open = new Set<T>();

  constructor(limits: ReadersLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#open.size;
  }

  /**
   * Throws OperationError where the account has changed meanwhile, and where too many read. To be asked right before the
   * stream is added, or many of one moment would pass.
   */
  check(reader: Reader, cluster: Cluster | undefined): void {
    if (cluster && !isCurrent(reader, cluster))
      throw new OperationError('unauthenticated', 'The user has changed meanwhile: log in again.');
    const { what, ofUser, ofAll } = this.#limits;
    const own = this.of(reader.userId);
    if (own.length >= ofUser) {
      // That makes room for who tries again.
      for (const reading of own) reading.beat();
      throw new OperationError('too-many', `You have ${ofUser} ${what} open: close some, and try again.`, {
        retryAfterS: RETRY_AFTER_S,
      });
    }
    if (this.#open.size >= ofAll)
      throw new OperationError('unavailable', `Too many ${what} are open; try again later.`);
  }

  add(reading: T): void {
    this.#open.add(reading);
  }

  delete(reading: T): void {
    this.#open.delete(reading);
  }

  /** Those of a user, or all (null); a copy, so that they may end meanwhile. */
  of(userId: number | null): T[] {
    const all = [...this.#open];
    return userId === null ? all : all.filter(({ reader }) => reader.userId === userId);
  }

  /** Those whose user has changed so that what let it in lets it in no more. */
  strangers(cluster: Cluster): T[] {
    return [...this.#open].filter(({ reader }) => !isCurrent(reader, cluster));
  }
}
