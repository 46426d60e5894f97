/**
 * Counts of the live executions: by status, and by user those that wait, for the bounds of the queue, and
 * those that have not ended. Pure.
 */
import { type Execution, type ExecutionStatus, waitingBytesOf } from '../model/execution.ts';

export interface WaitingCount {
  executions: number;
  /** What they count under the bound on descriptions. */
  bytes: number;
}

const NONE: Readonly<WaitingCount> = { executions: 0, bytes: 0 };

const UNENDED: ReadonlySet<ExecutionStatus | null> = new Set(['submitted', 'queued', 'starting', 'running']);
const isUnended = (status: ExecutionStatus | null): boolean => UNENDED.has(status);

type Counted = Pick<Execution, 'userId' | 'demand' | 'descriptionBytes'>;

export class ExecutionCounts {
  readonly #byStatus = new Map<ExecutionStatus, number>();
  readonly #waitingByUser = new Map<number, WaitingCount>();
  readonly #unendedByUser = new Map<number, number>();

  of(status: ExecutionStatus): number {
    return this.#byStatus.get(status) ?? 0;
  }

  /** Executions that wait, of all users. */
  get waiting(): number {
    return this.of('queued');
  }

  waitingOf(userId: number): Readonly<WaitingCount> {
    return this.#waitingByUser.get(userId) ?? NONE;
  }

  /** Executions of the user that wait, start or run. */
  unendedOf(userId: number): number {
    return this.#unendedByUser.get(userId) ?? 0;
  }

  /** The largest counts of any user; they may be of two users. */
  get mostWaiting(): WaitingCount {
    const most = { ...NONE };
    for (const { executions, bytes } of this.#waitingByUser.values()) {
      most.executions = Math.max(most.executions, executions);
      most.bytes = Math.max(most.bytes, bytes);
    }
    return most;
  }

  /** Counts a change of status. Null before an execution is live, and after that. */
  moved(execution: Counted, from: ExecutionStatus | null, to: ExecutionStatus | null): void {
    if (from === to) return;
    if (from !== null) this.#byStatus.set(from, this.of(from) - 1);
    if (to !== null) this.#byStatus.set(to, this.of(to) + 1);
    if (from === 'queued') this.#countWaiting(execution, -1);
    if (to === 'queued') this.#countWaiting(execution, 1);
    const unended = Number(isUnended(to)) - Number(isUnended(from));
    if (unended !== 0) this.#countUnended(execution.userId, unended);
  }

  #countUnended(userId: number, change: number): void {
    const count = this.unendedOf(userId) + change;
    if (count > 0) this.#unendedByUser.set(userId, count);
    else this.#unendedByUser.delete(userId);
  }

  #countWaiting(execution: Counted, sign: 1 | -1): void {
    const { userId } = execution;
    const count = this.#waitingByUser.get(userId) ?? { ...NONE };
    count.executions += sign;
    count.bytes += sign * waitingBytesOf(execution);
    if (count.executions > 0) this.#waitingByUser.set(userId, count);
    else this.#waitingByUser.delete(userId);
  }
}
