/**
 * Acknowledgement check: what a user was answered is committed by then and stays true. Only what a user has
 * deleted goes, or what has ended as long ago as ended executions are kept. A submission that is repeated
 * makes one execution.
 */

import type { Row } from '../../../../control-plane/store/db/db.ts';
import type { Change } from '../world/store.ts';
import type { World } from '../world/time.ts';
import { Check } from './check.ts';
import { isEnded, type Ledger } from './ledger.ts';

/**
 * How long ended executions are kept (null: for ever), and the most that a clock was ahead, or wrong either
 * way, so far.
 */
export interface Retention {
  keepMs: number | null;
  aheadMs: () => number;
  wrongByMs: () => number;
}

/** Idempotency keys are kept for that long. No run takes as long, but a clock may be wrong by more. */
const KEYS_KEPT_MS = 86_400_000;

interface Submitted {
  user: number;
  /** Status that the row promised when the termination was acknowledged; null if the row was gone. */
  acknowledgedStatus: string | null | undefined;
  generations: Map<number, number> | undefined;
  deletionRequested: boolean;
  deletionAcknowledged: boolean;
}

export class AcknowledgementCheck extends Check {
  readonly #retention: Retention;
  /** Executions of submissions with an idempotency key, by their names, which are unique. */
  readonly #made = new Map<string, number>();
  /** Executions that users have asked to delete. */
  readonly #deletions = new Set<number>();
  /** Every execution whose submission was acknowledged. */
  readonly #submitted = new Map<number, Submitted>();

  constructor(world: World, ledger: Ledger, retention: Retention) {
    super(world, ledger);
    this.#retention = retention;
  }

  get ids(): number[] {
    return [...this.#submitted.keys()];
  }

  submitted(id: number, user: number): void {
    this.world.count('answer: submitted');
    const row = this.ledger.executions.get(id);
    if (row?.user_id !== user)
      this.violate(`the submission of execution ${id} is acknowledged but not committed`);
    if (this.#submitted.has(id)) this.violate(`the execution id ${id} is assigned twice`);
    this.#submitted.set(id, {
      ...{ user, acknowledgedStatus: undefined, generations: undefined },
      ...{ deletionRequested: false, deletionAcknowledged: false },
    });
  }

  /** A submission with a key was answered, the first or a repeat of it. */
  submittedOnce(id: number, user: number, name: string, isRepeat: boolean): void {
    if (isRepeat) this.world.count('answer: repeated');
    const made = this.#made.get(name);
    if (made !== id && !this.#mayForgetKeys)
      this.violate(`the submission ${name} is answered ${id}, but has made execution ${made}`);
    // What a repeat names may be gone.
    if (!isRepeat || (this.ledger.executions.has(id) && !this.#submitted.has(id))) this.submitted(id, user);
  }

  terminated(id: number): void {
    this.world.count('answer: terminated');
    const submitted = this.#submitted.get(id);
    if (!submitted || submitted.acknowledgedStatus !== undefined) return;
    const row = this.ledger.executions.get(id);
    if (row && row.status !== 'cleaning up' && !isEnded(row))
      this.violate(`the termination of execution ${id} is acknowledged, but its status is ${row.status}`);
    const ending = row && !isEnded(row) ? JSON.parse(String(row.ending)).status : row?.status;
    submitted.acknowledgedStatus = ending === undefined ? null : String(ending);
    submitted.generations = generationsOf(this.ledger.servicesOf(id));
  }

  deletionRequested(id: number): void {
    this.#deletions.add(id);
    const submitted = this.#submitted.get(id);
    if (submitted) submitted.deletionRequested = true;
  }

  deleted(id: number): void {
    this.world.count('answer: deleted');
    const submitted = this.#submitted.get(id);
    if (submitted) submitted.deletionAcknowledged = true;
    const row = this.ledger.executions.get(id);
    if (row && row.deleted !== 1)
      this.violate(`the deletion of execution ${id} is acknowledged but not committed`);
    this.terminated(id);
  }

  get #mayForgetKeys(): boolean {
    return this.#retention.wrongByMs() >= KEYS_KEPT_MS;
  }

  /** Checks that no submission with an idempotency key makes two executions. */
  checkSubmission({ table, id, row }: Change): void {
    if (table !== 'executions' || !row || !isOnce(String(row.name))) return;
    const name = String(row.name);
    const made = this.#made.get(name) ?? id;
    if (made !== id && !this.#mayForgetKeys)
      this.violate(`the submission ${name} has made the executions ${made} and ${id}`);
    this.#made.set(name, id);
  }

  /** Checks a deletion that no user has requested. The ledger must not contain the change yet. */
  checkDeletion({ table, id, row }: Change): void {
    if (table !== 'executions' || row?.deleted !== 1 || this.#deletions.has(id)) return;
    const before = this.ledger.executions.get(id);
    if (before?.deleted === 1) return;
    this.world.count('execution: removed after its time');
    const { keepMs, aheadMs } = this.#retention;
    const isDue = keepMs !== null && Number(row.time_end_ms) + keepMs <= this.world.nowMs + aheadMs();
    if (!isEnded(before) || !isDue)
      this.violate(`execution ${id}, ${before?.status}, is removed before its time`);
    this.deletionRequested(id);
  }

  /** Checks the executions that a commit changed. */
  check(touched: Iterable<number>): void {
    for (const id of touched) {
      const submitted = this.#submitted.get(id);
      const row = this.ledger.executions.get(id);
      if (!submitted) continue;
      if (!row && !submitted.deletionRequested) this.violate(`execution ${id} is lost`);
      const { acknowledgedStatus } = submitted;
      if (!row || acknowledgedStatus === undefined) continue;
      if (row.status !== 'cleaning up' && !isEnded(row))
        this.violate(`the termination of execution ${id} was acknowledged, but its status is ${row.status}`);
      if (isEnded(row) && acknowledgedStatus !== null && row.status !== acknowledgedStatus)
        this.violate(
          `the end of execution ${id} was acknowledged as ${acknowledgedStatus}, but became ${row.status}`,
        );
      // A hostile agent may claim that a container has already ended of which it was given no start.
      const active = this.ledger.servicesOf(id).filter(({ status }) => status !== 'inactive');
      for (const [service, generation] of generationsOf(active))
        if (generation > (submitted.generations?.get(service) ?? 0))
          this.violate(
            `service ${service} is started after the termination of execution ${id} was acknowledged`,
          );
    }
  }

  /** Problems that remain after settling: an execution is lost, or is still there after its deletion. */
  unsettled(): string[] {
    return [...this.#submitted].flatMap(([id, { deletionRequested, deletionAcknowledged }]) => {
      const row = this.ledger.executions.get(id);
      if (!row && !deletionRequested) return [`execution ${id} is lost`];
      return row && deletionAcknowledged
        ? [`execution ${id} was deleted but still exists as ${row.status}`]
        : [];
    });
  }
}

const ONCE = 'once ';
const isOnce = (name: string): boolean => name.startsWith(ONCE);

/** The name of the execution of a submission that has that number and an idempotency key. */
export const nameOfOnce = (number: number): string => `${ONCE}${number}`;

const generationsOf = (services: readonly Row[]): Map<number, number> =>
  new Map(services.map((one) => [Number(one.id), Number(one.generation)]));
