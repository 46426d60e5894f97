/** Counts of the executions that wait, in all and by user, for the bounds of the queue. Pure. */

/** Executions, and the bytes of their descriptions. */
export interface WaitingCount {
  executions: number;
  descriptionBytes: number;
}

const NONE: Readonly<WaitingCount> = { executions: 0, descriptionBytes: 0 };

export class WaitingCounts {
  /** Executions that wait, of all users. */
  executions = 0;
  readonly #ofUser = new Map<number, WaitingCount>();

  of(userId: number): Readonly<WaitingCount> {
    return this.#ofUser.get(userId) ?? NONE;
  }

  /** Counts an execution that begins (1) or ceases (-1) to wait. */
  count({ userId, descriptionBytes }: { userId: number; descriptionBytes: number }, sign: 1 | -1): void {
    const count = this.#ofUser.get(userId) ?? { ...NONE };
    this.executions += sign;
    count.executions += sign;
    count.descriptionBytes += sign * descriptionBytes;
    if (count.executions > 0) this.#ofUser.set(userId, count);
    else this.#ofUser.delete(userId);
  }
}
