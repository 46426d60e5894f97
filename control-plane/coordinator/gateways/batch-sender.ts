/**
 * Sends portions of many connections in batches, one batch at a time: what is added meanwhile shares the next
 * one. A batch that may not have arrived is sent again, with the same numbers (P171).
 */
import type { Clock, Logger } from '../ports.ts';
import type { Closing, Portion, Rejected } from './portion.ts';

/** A call without an answer for that long has failed. */
const CALL_TIMEOUT_MS = 10_000;
const ATTEMPTS = 3;
const RETRY_DELAY_MS = 200;
/** Size of a batch, unless a single entry has more. Messages between objects may have 32 MiB. */
const MAX_BATCH_LENGTH = 4 * 1024 * 1024;

export interface SenderOptions<T> {
  clock: Pick<Clock, 'after'>;
  log: Logger;
  /** For log lines: where batches go. */
  to: string;
  send(batch: Portion<T>[]): Promise<Rejected>;
  /** So many entries of the connection, counted from its beginning, have arrived. */
  delivered?(connection: string, count: number): void;
  /** The receiver has rejected the connection (`isKnown`), or a batch with its entries was given up. */
  lost(connection: string, isKnown: boolean): void;
  /** The end of the connection was delivered (`isKnown`) or given up. */
  ended?(connection: string, isKnown: boolean): void;
}

interface Waiting<T> {
  entries: { entry: T; length: number }[];
  closing?: Closing;
}

export class BatchSender<T> {
  readonly #options: SenderOptions<T>;
  /** Numbers of the next entries to send, by connection. */
  readonly #next = new Map<string, number>();
  readonly #waiting = new Map<string, Waiting<T>>();
  #waitingLength = 0;
  #isSending = false;
  /** Cancels the pause after which entries that could wait are sent. */
  #cancelPause: (() => void) | undefined;

  constructor(options: SenderOptions<T>) {
    this.#options = options;
  }

  /** Length of the entries that were not delivered yet, in the unit of `add`. */
  get waitingLength(): number {
    return this.#waitingLength;
  }

  /** Begins a connection that has passed on `next` entries before. */
  begin(connection: string, next = 0): void {
    this.#next.set(connection, next);
  }

  /** Whether the connection has begun, and was not forgotten. */
  has(connection: string): boolean {
    return this.#next.has(connection);
  }

  /** Number of entries that the connection has passed on, also of those that wait. */
  count(connection: string): number {
    const waiting = this.#waiting.get(connection)?.entries.length ?? 0;
    return (this.#next.get(connection) ?? 0) + waiting;
  }

  /** The entry is sent at once; with `holdMs`, within that time, or before with whatever else is sent. */
  add(connection: string, entry: T, length: number, holdMs = 0): void {
    if (!this.#next.has(connection)) return;
    this.#waitingOf(connection).entries.push({ entry, length });
    this.#waitingLength += length;
    if (holdMs === 0) this.#begin();
    else if (!this.#isSending) this.#cancelPause ??= this.#options.clock.after(holdMs, () => this.#begin());
  }

  /** Ends the connection after the entries that wait, or `instead` of them. */
  close(connection: string, closing: Closing, instead = false): void {
    if (!this.#next.has(connection)) return;
    if (instead) this.#discard(connection);
    this.#waitingOf(connection).closing = closing;
    this.#begin();
  }

  /** True if nothing waits or is on its way. */
  get isIdle(): boolean {
    return !this.#isSending && this.#waiting.size === 0;
  }

  /** Forgets the connection, and what waits of it. */
  forget(connection: string): void {
    this.#discard(connection);
    this.#next.delete(connection);
  }

  #waitingOf(connection: string): Waiting<T> {
    const waiting = this.#waiting.get(connection) ?? { entries: [] };
    this.#waiting.set(connection, waiting);
    return waiting;
  }

  #discard(connection: string): void {
    for (const { length } of this.#waiting.get(connection)?.entries ?? []) this.#waitingLength -= length;
    this.#waiting.delete(connection);
  }

  #begin(): void {
    this.#cancelPause?.();
    this.#cancelPause = undefined;
    if (this.#isSending) return;
    this.#isSending = true;
    // Whatever the present turn adds shares the first batch.
    void Promise.resolve().then(() => this.#sendAll());
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.size > 0) {
      const { batch, length } = this.#take();
      const answer = await this.#deliver(batch);
      const isKnown = answer !== undefined;
      const rejected = new Set(answer);
      this.#waitingLength -= length;
      for (const { connection, first, entries, closing } of batch) {
        if (!isKnown || rejected.has(connection)) this.#lose(connection, isKnown);
        else this.#options.delivered?.(connection, first + entries.length);
        if (!closing) continue;
        this.forget(connection);
        this.#options.ended?.(connection, isKnown);
      }
    }
    this.#isSending = false;
  }

  #lose(connection: string, isKnown: boolean): void {
    this.forget(connection);
    this.#options.lost(connection, isKnown);
  }

  /** Takes a batch from what waits. Its length goes on to count until it is delivered. */
  #take(): { batch: Portion<T>[]; length: number } {
    const batch: Portion<T>[] = [];
    let total = 0;
    for (const [connection, waiting] of this.#waiting) {
      let taken = 0;
      const fits = ({ length }: { length: number }) => total === 0 || total + length <= MAX_BATCH_LENGTH;
      for (let entry = waiting.entries[taken]; entry && fits(entry); entry = waiting.entries[taken]) {
        total += entry.length;
        taken += 1;
      }
      const isAll = taken === waiting.entries.length;
      if (taken === 0 && !isAll) break;
      const first = this.#next.get(connection) ?? 0;
      const entries = waiting.entries.splice(0, taken).map(({ entry }) => entry);
      this.#next.set(connection, first + taken);
      const { closing } = waiting;
      batch.push({ connection, first, entries, ...(isAll && closing && { closing }) });
      if (!isAll) break;
      this.#waiting.delete(connection);
    }
    return { batch, length: total };
  }

  /** Never rejects. Undefined: the batch was given up. */
  async #deliver(batch: Portion<T>[]): Promise<Rejected | undefined> {
    const { clock, log, to, send } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        return await inTime(send(batch), clock);
      } catch (error) {
        const isLast = attempt === ATTEMPTS;
        log('gateway.call-failed', { to, connections: batch.length, attempt, error: String(error) });
        if (isLast) return undefined;
        await new Promise<void>((resolve) => clock.after(RETRY_DELAY_MS * attempt, resolve));
      }
    }
  }
}

/** Rejects if the call takes too long. It may still arrive. */
export async function inTime<T>(call: Promise<T>, clock: Pick<Clock, 'after'>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const cancel = clock.after(CALL_TIMEOUT_MS, () =>
    reject(new Error(`no answer within ${CALL_TIMEOUT_MS / 1_000} s`)),
  );
  try {
    return await Promise.race([call, promise]);
  } finally {
    cancel();
  }
}
