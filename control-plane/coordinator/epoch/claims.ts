/**
 * How a coordinator comes to its state: it claims the next epoch and reads all live rows (COORD-3). One that
 * has slept does both at once, and goes on with the sessions that it had (C232).
 */
import type { SchedulerConfig } from '../../core/model/scheduler-config.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import { type ReadState, resume, takeOver } from '../../store/cluster/cluster-rows.ts';
import type { Db } from '../../store/db/db.ts';
import type { ClaimTerms, Epoch, Holding } from '../../store/db/epoch.ts';

export interface ClaimEvents {
  claimed(epoch: Epoch): void;
  /** After a sleep. Undefined: another coordinator has taken over meanwhile. */
  resumed(cluster: Cluster | undefined): void;
}

export class Claims {
  /** Identifies this coordinator as the holder of the epoch (COORD-3). */
  readonly name: string;
  readonly #db: Db;
  readonly #scheduling: SchedulerConfig;
  readonly #terms: ClaimTerms;
  readonly #events: ClaimEvents;
  /** Set until the first state of a coordinator that has slept. */
  #resumes: Holding | undefined;
  /** Whether this coordinator has held an epoch, perhaps before it slept. */
  #hasHeld: boolean;
  #hasCommitted = false;

  constructor(db: Db, scheduling: SchedulerConfig, terms: ClaimTerms, events: ClaimEvents) {
    this.name = terms.resumes?.name ?? crypto.randomUUID();
    this.#db = db;
    this.#scheduling = scheduling;
    this.#terms = terms;
    this.#events = events;
    this.#resumes = terms.resumes;
    this.#hasHeld = terms.resumes !== undefined;
  }

  /** Whether the clock of another machine may have recorded the times of the next state. */
  get followsAnother(): boolean {
    return this.#terms.yields === true && !this.#hasCommitted;
  }

  /** The changes of a turn are in the database. */
  committed(): void {
    this.#hasCommitted = true;
  }

  /**
   * Claims the next epoch, and reads the state. Rejects if another coordinator has taken over since the last
   * one, also if that was before a sleep.
   */
  async take(): Promise<ReadState> {
    const resumed = await this.#resume();
    if (resumed) return resumed;
    await this.#terms.prepare?.();
    const claimant = { ...this.#terms, name: this.name, hasHeld: this.#hasHeld };
    return takeOver(this.#db, this.#scheduling, claimant, (epoch) => {
      this.#hasHeld = true;
      this.#events.claimed(epoch);
    });
  }

  /** The sessions that a coordinator had before it slept are valid only if nobody has taken over since. */
  async #resume(): Promise<ReadState | undefined> {
    const holding = this.#resumes;
    this.#resumes = undefined;
    if (!holding) return undefined;
    const state = await resume(this.#db, this.#scheduling, holding);
    this.#events.resumed(state?.cluster);
    return state;
  }
}
