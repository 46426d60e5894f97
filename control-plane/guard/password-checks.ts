/**
 * Limits how many passwords this process or isolate checks at once. Further logins wait in a fair queue
 * (ACC-5).
 */

import type { Limit } from '../core/metrics/limits.ts';
import { OperationError } from '../core/model/errors.ts';
import { LoginQueue, type WaitingLogin } from './login-queue.ts';

/** Logins that are checked at once. Each takes a thread and 32 MiB. */
const MAX_RUNNING = 2;
const MAX_WAIT_MS = 15_000;
/** A check that takes longer is written off: workerd may end a request without notice. */
const LOST_MS = 60_000;

export interface PasswordCheckLimits {
  /** In metrics. */
  name?: string;
  maxRunning?: number;
  maxWaiting: number;
}

interface Slot {
  sinceMs: number;
}

interface Waiting extends WaitingLogin {
  start: (slot: Slot) => void;
  refuse: (error: OperationError) => void;
}

export class PasswordChecks {
  readonly #name: string;
  readonly #nowMs: () => number;
  readonly #maxRunning: number;
  readonly #maxWaiting: number;
  readonly #running = new Set<Slot>();
  readonly #waiting: LoginQueue<Waiting>;

  constructor(
    nowMs: () => number,
    { name = 'waiting_logins', maxRunning = MAX_RUNNING, maxWaiting }: PasswordCheckLimits,
  ) {
    this.#name = name;
    this.#nowMs = nowMs;
    this.#maxRunning = maxRunning;
    this.#maxWaiting = maxWaiting;
    this.#waiting = new LoginQueue(maxWaiting);
  }

  /** Familiar logins have as many places as the others. */
  get limit(): Limit {
    const setting = 'BERTH_LIMITS.waitingLogins';
    return { name: this.#name, setting, used: this.#waiting.size, limit: 2 * this.#maxWaiting };
  }

  /** Rejects with `unavailable` if the login has no place in the queue, or waits too long. */
  async run<T>(login: WaitingLogin, check: () => Promise<T>): Promise<T> {
    this.#writeOffLost();
    const slot = this.#running.size < this.#maxRunning ? this.#occupy() : await this.#waitForSlot(login);
    try {
      return await check();
    } finally {
      this.#release(slot);
    }
  }

  #occupy(): Slot {
    const slot = { sinceMs: this.#nowMs() };
    this.#running.add(slot);
    return slot;
  }

  #waitForSlot(login: WaitingLogin): Promise<Slot> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const slot = new Promise<Slot>((start, refuse) => {
      const waiting = { ...login, start, refuse };
      // Without a timer of its own, a request that only waits for another request would be ended by workerd
      // as hung.
      timer = setTimeout(() => {
        if (this.#waiting.delete(waiting)) refuse(waitedTooLong());
      }, MAX_WAIT_MS);
      this.#waiting.add(waiting)?.refuse(noPlace(this.#maxWaiting));
    });
    return slot.finally(() => clearTimeout(timer));
  }

  /** Passes the slot on to the next in the queue. */
  #release(slot: Slot): void {
    this.#running.delete(slot);
    if (this.#running.size < this.#maxRunning) this.#waiting.next()?.start(this.#occupy());
  }

  #writeOffLost(): void {
    for (const slot of this.#running) if (slot.sinceMs <= this.#nowMs() - LOST_MS) this.#running.delete(slot);
  }
}

const noPlace = (places: number) =>
  new OperationError(
    'unavailable',
    `Too many logins at the same time: at most ${places} may wait for their password check. Try again later.`,
  );

const waitedTooLong = () =>
  new OperationError(
    'unavailable',
    `Too many logins at the same time: this one waited ${MAX_WAIT_MS / 1_000} s. Try again later.`,
  );
