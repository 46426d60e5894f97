/** Counts of the executions that wait, in all and by user, for the bounds of the queue. Pure. */
import { type Execution, waitingBytesOf } from '../model/execution.ts';

export interface WaitingCount {
  executions: number;
  /** What they count under the bound on descriptions. */
  bytes: number;
}

const NONE: Readonly<WaitingCount> = { executions: 0, bytes: 0 };

export class WaitingCounts {
  /** Executions that wait, of all users. */
  executions = 0;
  readonly #ofUser = new Map<number, WaitingCount>();

  of(userId: number): Readonly<WaitingCount> {
    return this.#ofUser.get(userId) ?? NONE;
  }

  /** Counts an execution that begins (1) or ceases (-1) to wait. */
  count(execution: Pick<Execution, 'userId' | 'demand' | 'descriptionBytes'>, sign: 1 | -1): void {
    const { userId } = execution;
    const count = this.#ofUser.get(userId) ?? { ...NONE };
    this.executions += sign;
    count.executions += sign;
    count.bytes += sign * waitingBytesOf(execution);
    if (count.executions > 0) this.#ofUser.set(userId, count);
    else this.#ofUser.delete(userId);
  }
}
