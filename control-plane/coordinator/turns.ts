/**
 * Owns the order of things: inputs are drained, reconcile decides, one commit makes it last, and only then is anybody
 * answered or told (commit before acknowledging, commit before sending). Also owns the memory copy of the database:
 * after a commit that failed it is thrown away and read again, for then nobody knows what the database holds.
 */

import { resumeTimeouts } from '../core/hosts/host-liveness.ts';
import { nextDeadline, reconcile } from '../core/lifecycle/reconciler.ts';
import { OperationError } from '../core/model/errors.ts';
import type { SchedulerConfig } from '../core/model/scheduler-config.ts';
import type { Changes } from '../core/state/changes.ts';
import type { Cluster } from '../core/state/cluster.ts';
import type { Decision } from '../core/state/decision.ts';
import { commit, takeOver } from '../store/cluster/cluster-rows.ts';
import type { Db } from '../store/db/db.ts';
import { type Epoch, fence, isStale } from '../store/db/epoch.ts';
import type { Clock, Logger } from './ports.ts';

export interface State {
  epoch: Epoch;
  cluster: Cluster;
}

/** One change asked for. `run` may throw OperationError, then before it changes anything; it must not wait. */
export interface Input {
  /** Called before any `prepare` of the turn: reads what `run` must know of the database. Where it rejects, only this input has failed. */
  read?(): Promise<void>;
  /**
   * Called before any `run` of the turn: writes a transaction of its own and changes the state likewise. Where it rejects, the
   * turn has failed.
   */
  prepare?(state: State): Promise<void>;
  run(cluster: Cluster, nowMs: number): void;
  /** Called after the commit, in the order of the inputs, before the turn's decisions are sent. */
  done?(cluster: Cluster, nowMs: number): void;
  fail(error: unknown): void;
}

export interface TurnEvents {
  /** The turn is committed: tell the agents. */
  committed(decisions: readonly Decision[], cluster: Cluster): void;
  /** The same, after that: what is other than before. */
  changed(changes: Changes, cluster: Cluster): void;
  /** The memory copy was thrown away: whatever was told to anybody may be wrong. Retired: and never comes another. */
  lost(isRetired: boolean): void;
}

/** Inputs of one commit at most, so that a burst makes several transactions of bearable size. */
const MAX_INPUTS = 500;
/** How long a coordinator takes for granted that none has taken over: well below the margin of a lease. */
const EPOCH_CONFIRMED_MS = 10_000;
/** Before a database that could not be read is tried again without anybody asking. */
const RELOAD_DELAY_MS = 1_000;

export class Turns {
  readonly #db: Db;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #scheduling: SchedulerConfig;
  readonly #events: TurnEvents;
  readonly #inputs: Input[] = [];
  #state: State | undefined;
  #active = false;
  #confirmedMs = 0;
  #due = false;
  /** Set from the first change of a turn to its commit. */
  #hasUncommittedChanges = false;
  /** Tells this coordinator's hold on the database from another's. */
  readonly #name = crypto.randomUUID();
  #hasHeld = false;
  /** Set once a later coordinator has taken over: this one can never commit again. */
  #retired = false;

  constructor(db: Db, clock: Clock, log: Logger, scheduling: SchedulerConfig, events: TurnEvents) {
    this.#db = db;
    this.#clock = clock;
    this.#log = log;
    this.#scheduling = scheduling;
    this.#events = events;
  }

  /** The state as of the last commit, unless it `isAhead` of it; undefined while there is none. */
  get cluster(): Cluster | undefined {
    return this.#state?.cluster;
  }

  /** Of the state; there must be one. */
  get epoch(): Epoch {
    if (!this.#state) throw new Error('there is no state');
    return this.#state.epoch;
  }

  /** Whether the state holds what is not committed yet: it may be read, and nothing of it told. */
  get hasUncommittedChanges(): boolean {
    return this.#hasUncommittedChanges;
  }

  /** Takes an input into the next turn. */
  enqueue(input: Input): void {
    this.#inputs.push(input);
    this.wake();
  }

  /** Runs `change` in a turn and resolves to its result once that is committed. */
  update<T>(change: (cluster: Cluster, nowMs: number) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      let result: T;
      this.enqueue({
        run: (cluster, nowMs) => {
          result = change(cluster, nowMs);
        },
        done: () => resolve(result),
        fail: reject,
      });
    });
  }

  /** Looks at the state when a turn has decided all there was to decide. Needs no commit where nothing changed. */
  query<T>(view: (cluster: Cluster, nowMs: number) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.enqueue({
        run: () => {},
        done: (cluster, nowMs) => {
          try {
            resolve(view(cluster, nowMs));
          } catch (error) {
            reject(error);
          }
        },
        fail: reject,
      });
    });
  }

  /** Has a turn that finds out whether another coordinator has taken over, whatever there is to be committed. */
  confirmEpoch(): void {
    this.enqueue({
      prepare: async ({ epoch }) => {
        try {
          await this.#db.batch([fence(epoch)]);
        } catch (error) {
          // That the database can't be asked takes nothing from anybody.
          if (isStale(error)) throw error;
        }
      },
      run: () => {},
      fail: () => {},
    });
  }

  /** Has a turn even without input: the clock alone may change things. */
  wake(): void {
    this.#due = true;
    if (this.#active) return;
    this.#active = true;
    this.#clock.defer(() => void this.#work());
  }

  async #work(): Promise<void> {
    while (this.#due) {
      this.#due = false;
      await this.#turn(this.#inputs.splice(0, MAX_INPUTS));
      if (this.#inputs.length > 0) this.#due = true;
    }
    this.#active = false;
    this.#setAlarm();
  }

  async #turn(inputs: readonly Input[]): Promise<void> {
    let accepted: Input[];
    let decisions: Decision[];
    let changes: Changes;
    let state: State;
    const nowMs = this.#clock.nowMs();
    try {
      if (this.#retired) throw new Error('another coordinator has taken over');
      state = await this.#loadState(nowMs);
      if (inputs.length > 0) await this.#confirmEpoch(state.epoch, nowMs);
      const readable = await readAll(inputs);
      this.#hasUncommittedChanges = true;
      for (const input of readable) await input.prepare?.(state);
      accepted = runAll(readable, state.cluster, nowMs);
      decisions = reconcile(state.cluster, nowMs);
      changes = state.cluster.changes;
      await commit(this.#db, state.epoch, state.cluster.takeChanges());
      this.#hasUncommittedChanges = false;
    } catch (error) {
      this.#discardState(error, inputs);
      return;
    }
    const { cluster } = state;
    const callbacks = accepted.map((input) => () => input.done?.(cluster, nowMs));
    const fault = callAll([
      ...callbacks,
      () => this.#events.committed(decisions, cluster),
      () => this.#events.changed(changes, cluster),
    ]);
    // It is committed, so nobody is told otherwise; but who was told what is no longer known.
    if (fault !== undefined) this.#discardState(fault, []);
  }

  async #loadState(nowMs: number): Promise<State> {
    if (!this.#state) {
      const claimant = { name: this.#name, hasHeld: this.#hasHeld };
      this.#state = await takeOver(this.#db, this.#scheduling, claimant);
      this.#hasHeld = true;
      const { epoch, cluster } = this.#state;
      resumeTimeouts(cluster, nowMs);
      this.#log('coordinator.ready', {
        epoch,
        executions: cluster.executions.size,
        hosts: cluster.hosts.size,
      });
    }
    return this.#state;
  }

  /**
   * Where agents stop what they run without contact, only who may still decide may tell them that they have it: a later
   * coordinator counts the silence from its own beginning. Reports need no commit, so that this one might not notice.
   */
  async #confirmEpoch(epoch: Epoch, nowMs: number): Promise<void> {
    if (
      this.#scheduling.hostLossPolicy !== 'requeue' ||
      Math.abs(nowMs - this.#confirmedMs) < EPOCH_CONFIRMED_MS
    )
      return;
    await this.#db.batch([fence(epoch)]);
    this.#confirmedMs = nowMs;
  }

  #discardState(error: unknown, inputs: readonly Input[]): void {
    this.#state = undefined;
    this.#hasUncommittedChanges = false;
    this.#confirmedMs = 0;
    if (isStale(error)) this.#retired = true;
    this.#log('coordinator.lost', { error: String(error), retired: this.#retired });
    const message = this.#retired
      ? 'Another control plane has taken over this database; use that one, or restart this one.'
      : 'The database did not take the change. Nothing was acknowledged; try again.';
    const callbacks = inputs.map(
      (input) => () => input.fail(new OperationError('unavailable', message, { cause: error })),
    );
    // Never throws: no turn would ever come again.
    const fault = callAll([...callbacks, () => this.#events.lost(this.#retired)]);
    if (fault !== undefined) this.#log('coordinator.fault', { error: String(fault) });
  }

  #setAlarm(): void {
    const nowMs = this.#clock.nowMs();
    if (this.#retired) this.#clock.wakeAt(null);
    else this.#clock.wakeAt(this.#state ? nextDeadline(this.#state.cluster) : nowMs + RELOAD_DELAY_MS);
  }
}

/** A query beside the turns. The coordinator promises its callers one kind of error. */
export async function readDatabase<T>(query: Promise<T>): Promise<T> {
  try {
    return await query;
  } catch (cause) {
    throw new OperationError('unavailable', 'The database does not answer; try again later.', { cause });
  }
}

/** Calls each, whatever becomes of the others, and returns the first error. */
function callAll(calls: readonly (() => void)[]): unknown {
  let fault: unknown;
  for (const call of calls) {
    try {
      call();
    } catch (error) {
      fault ??= error;
    }
  }
  return fault;
}

/** Has the inputs read what they must know; one that can't is answered at once (it changed nothing) and left out. */
async function readAll(inputs: readonly Input[]): Promise<Input[]> {
  const readable: Input[] = [];
  for (const input of inputs) {
    try {
      if (input.read) await readDatabase(input.read());
      readable.push(input);
    } catch (error) {
      input.fail(error);
    }
  }
  return readable;
}

/** Runs the inputs in order; one that is refused is answered at once (it changed nothing) and left out. */
function runAll(inputs: readonly Input[], cluster: Cluster, nowMs: number): Input[] {
  return inputs.filter((input) => {
    try {
      input.run(cluster, nowMs);
      return true;
    } catch (error) {
      if (!(error instanceof OperationError)) throw error;
      input.fail(error);
      return false;
    }
  });
}
