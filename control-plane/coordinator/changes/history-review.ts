/**
 * Review of the history: from time to time, removes ended executions whose days are over, and what else has
 * expired, in small batches with pauses. It runs beside the turns; each batch is an input of one turn. Never
 * removes what has not ended.
 */
import { FORGET_MS } from '../../core/accounts/login-throttle.ts';
import {
  BATCH_SIZE,
  dueEndMs,
  hasTooManyPending,
  isRemovable,
  keepMsOf,
  nextReviewMs,
  pauseMs,
  retryPeriodMs,
  reviewPeriodMs,
} from '../../core/lifecycle/retention.ts';
import { deleteEnded } from '../../core/lifecycle/state-transitions.ts';
import type { Bounds } from '../../core/model/bounds.ts';
import type { Execution } from '../../core/model/execution.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import type { Decision } from '../../core/state/decision.ts';
import type { HistorySummary } from '../../core/views/statistics.ts';
import { loadExecutions } from '../../store/cluster/cluster-rows.ts';
import {
  type EndPosition,
  type Expired,
  FIRST_END,
  listEnded,
  removeExpired,
  writeReviewed,
} from '../../store/cluster/history-rows.ts';
import type { Db } from '../../store/db/db.ts';
import type { Clock, Logger } from '../ports.ts';
import type { Turns } from '../turns.ts';

export interface HistoryReviewDeps {
  db: Db;
  clock: Clock;
  log: Logger;
  scheduling: { bounds: Pick<Bounds, 'auditRows' | 'auditDays'> };
  /** Absent: what the database records. */
  keepEndedDays?: number | undefined;
}

const FIRST_DELAY_MS = 5_000;
const RESUME_MS = 60_000;
/** Calls to the database in a batch, one after the other. */
const BATCH_CALLS = 4;
/** Rows of each table that one step removes. */
const EXPIRED_ROWS = 100;
/** As many new rows of the audit log, as a part of its bound, make a review due. */
const AUDIT_SHARE = 0.1;
/** Pages of the file that one step gives back: 1 MiB. */
const FREED_PAGES = 256;

/** What one review has done. */
interface Review {
  keepMs: number | null;
  startedMs: number;
  /** The least time of a small read so far. On a server, most of that is the way to the database. */
  callMs: number;
  executions: number;
  freedPages: number;
}

export class HistoryReview {
  readonly #turns: Turns;
  readonly #deps: HistoryReviewDeps;
  #dueMs: number | undefined;
  #isActive = false;
  #removed = 0;
  #reviewedMs: number | undefined;
  /** Rows of the audit log since the last review began. */
  #audited = 0;
  /** Executions that other inputs have purged since the batch was read. */
  readonly #purged = new Set<number>();

  constructor(turns: Turns, deps: HistoryReviewDeps) {
    this.#turns = turns;
    this.#deps = deps;
  }

  /** A turn from then on begins the next review. While one is under way: a time by which it is resumed. */
  get dueMs(): number {
    return this.#dueMs ?? Number.POSITIVE_INFINITY;
  }

  /** True while a review is under way. */
  get isActive(): boolean {
    return this.#isActive;
  }

  /** Executions that reviews have removed. */
  get removed(): number {
    return this.#removed;
  }

  /** Throws if no state is loaded. */
  summary(): HistorySummary {
    const reviewedMs = this.#reviewedMs ?? this.#turns.loaded.reviewRecord.reviewedMs;
    return { keepEndedDays: this.#keepDays, removed: this.#removed, reviewedMs: reviewedMs || null };
  }

  /** Rows were added to the audit log: many of them make a review due, so that its bound holds (ACC-14). */
  audited(rows: number): void {
    this.#audited += rows;
    if (this.#audited < this.#deps.scheduling.bounds.auditRows * AUDIT_SHARE || this.#isActive) return;
    this.#dueMs = this.#deps.clock.nowMs();
    this.#turns.wake();
  }

  /** A turn is committed: begins a review if one is due. */
  committed(decisions: readonly Decision[]): void {
    const nowMs = this.#deps.clock.nowMs();
    // Later, if the clock was set back since.
    const latestMs = nowMs + Math.max(RESUME_MS, reviewPeriodMs(keepMsOf(this.#keepDays)));
    this.#dueMs = Math.min(this.#dueMs ?? this.#firstDueMs(nowMs), latestMs);
    if (this.#isActive)
      for (const decision of decisions)
        if (decision.kind === 'purge') this.#purged.add(decision.execution.id);
    if (nowMs < this.#dueMs) return;
    // A Durable Object that ends meanwhile is woken by then, and reviews again.
    this.#dueMs = nowMs + RESUME_MS;
    if (!this.#isActive) void this.#reviewAndSchedule();
  }

  get #keepDays(): number {
    return this.#deps.keepEndedDays ?? this.#turns.loaded.reviewRecord.keepDays;
  }

  /** A start serves its users first. */
  #firstDueMs(nowMs: number): number {
    const { reviewedMs } = this.#turns.loaded.reviewRecord;
    return Math.max(nowMs + FIRST_DELAY_MS, nextReviewMs(reviewedMs, keepMsOf(this.#keepDays), nowMs));
  }

  async #reviewAndSchedule(): Promise<void> {
    const { clock, log } = this.#deps;
    this.#isActive = true;
    this.#audited = 0;
    const keepMs = keepMsOf(this.#keepDays);
    let isComplete = false;
    try {
      isComplete = await this.#review({
        keepMs,
        startedMs: clock.nowMs(),
        callMs: 0,
        executions: 0,
        freedPages: 0,
      });
    } catch (error) {
      log('history.failed', { error: String(error) });
    }
    this.#dueMs = clock.nowMs() + (isComplete ? reviewPeriodMs(keepMs) : retryPeriodMs(keepMs));
    this.#isActive = false;
    // Sets the alarm to the next review.
    this.#turns.wake();
  }

  /** Resolves to false if deletions wait for too many hosts. */
  async #review(review: Review): Promise<boolean> {
    const { clock, db, log } = this.#deps;
    const endMs = dueEndMs(review.keepMs, review.startedMs);
    const isComplete = endMs === null || (await this.#removeEnded(review, endMs));
    const expired = await this.#removeExpired(review);
    await this.#shrink(review);
    if (isComplete) {
      this.#reviewedMs = clock.nowMs();
      await writeReviewed(db, this.#turns.loaded.epoch, this.#reviewedMs);
    }
    const { executions, freedPages } = review;
    if (executions + freedPages + Object.values(expired).reduce((sum, rows) => sum + rows, 0) > 0)
      log('history.reviewed', { executions, ...expired, freedPages, isComplete });
    return isComplete;
  }

  async #removeEnded(review: Review, endMs: number): Promise<boolean> {
    let position = FIRST_END;
    for (;;) {
      const next = await this.#paced(review, BATCH_CALLS, () => this.#removeBatch(review, position, endMs));
      if (typeof next === 'string') return next === 'finished';
      position = next;
    }
  }

  /** Removes the next batch. Resolves to the position of its last execution, or to why there is no batch. */
  async #removeBatch(
    review: Review,
    from: EndPosition,
    endMs: number,
  ): Promise<EndPosition | 'finished' | 'too many pending'> {
    const { clock, db } = this.#deps;
    const { cluster: known } = this.#turns;
    if (known && hasTooManyPending(known)) return 'too many pending';
    this.#purged.clear();
    const readMs = clock.nowMs();
    const positions = await listEnded(db, from, { endMs, limit: BATCH_SIZE });
    review.callMs = Math.min(review.callMs || Number.POSITIVE_INFINITY, clock.nowMs() - readMs);
    const last = positions.at(-1);
    if (!last) return 'finished';
    const ids = positions.map(({ id }) => id);
    const ended = await loadExecutions(db, ids);
    const removed = await this.#turns.update((cluster, nowMs) => {
      // If the state was read again, another coordinator may have changed them.
      if (cluster !== known) return 0;
      const removable = ended.filter((execution) => this.#mayRemove(cluster, execution, endMs));
      for (const execution of removable) deleteEnded(cluster, execution, nowMs);
      return removable.length;
    });
    review.executions += removed;
    this.#removed += removed;
    return last;
  }

  #mayRemove(cluster: Cluster, execution: Execution, endMs: number): boolean {
    const isGone = this.#purged.has(execution.id) || cluster.executions.has(execution.id);
    return !isGone && isRemovable(cluster, execution, endMs);
  }

  async #removeExpired(review: Review): Promise<Expired> {
    const { clock, db, scheduling } = this.#deps;
    const { auditRows, auditDays } = scheduling.bounds;
    const total: Expired = {
      sessions: 0,
      tokens: 0,
      loginFailures: 0,
      joinTokens: 0,
      idempotencyKeys: 0,
      hosts: 0,
      auditRows: 0,
    };
    for (;;) {
      const nowMs = clock.nowMs();
      const removedMs = dueEndMs(review.keepMs, nowMs);
      const auditMs = dueEndMs(keepMsOf(auditDays), nowMs);
      const expiry = { nowMs, forgetMs: nowMs - FORGET_MS, removedMs, auditMs, auditRows };
      const expired = await this.#paced(review, 1, () =>
        removeExpired(db, this.#turns.loaded.epoch, expiry, EXPIRED_ROWS),
      );
      for (const what of Object.keys(total) as (keyof Expired)[]) total[what] += expired[what];
      if (Object.values(expired).every((rows) => rows < EXPIRED_ROWS)) return total;
    }
  }

  /** Gives unused pages of an embedded file back. A server uses them again. */
  async #shrink(review: Review): Promise<void> {
    const { db } = this.#deps;
    for (;;) {
      const freed = await this.#paced(review, 1, async () => (await db.shrink?.(FREED_PAGES)) ?? 0);
      if (freed === 0) return;
      review.freedPages += freed;
    }
  }

  /** Runs a step, and then pauses for as long as keeps its share of the time small (C241). */
  async #paced<T>(review: Review, calls: number, step: () => Promise<T>): Promise<T> {
    const { clock } = this.#deps;
    const startedMs = clock.nowMs();
    const result = await step();
    const costMs = clock.nowMs() - startedMs - calls * review.callMs;
    await new Promise<void>((resolve) => clock.after(pauseMs(costMs), resolve));
    return result;
  }
}
