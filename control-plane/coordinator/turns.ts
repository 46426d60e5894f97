/**
 * Turns: collect inputs, decide (`reconcile`), commit, then answer callers and send to agents. Nothing is
 * answered or sent before its commit. After a failed commit the state in memory is discarded and read again,
 * because the content of the database is then unknown (COORD-1).
 */

import { resumeTimeouts } from '../core/hosts/host-liveness.ts';
import { nextDeadline } from '../core/lifecycle/reconciler.ts';
import { OperationError } from '../core/model/errors.ts';
import type { SchedulerConfig } from '../core/model/scheduler-config.ts';
import type { Changes } from '../core/state/changes.ts';
import type { Cluster } from '../core/state/cluster.ts';
import type { Decision } from '../core/state/decision.ts';
import { unloadWaiting } from '../core/state/loading.ts';
import { commit } from '../store/cluster/cluster-rows.ts';
import type { Db } from '../store/db/db.ts';
import {
  type ClaimTerms,
  type Epoch,
  fence,
  type Holding,
  hasOtherHolder,
  isStale,
  isSuperseded,
} from '../store/db/epoch.ts';
import { Claims } from './epoch/claims.ts';
import { epochCheck, holderInput } from './epoch/epoch-inputs.ts';
import { Heartbeat } from './epoch/heartbeat.ts';
import { Loader } from './loader.ts';
import type { Clock, Logger } from './ports.ts';
import type { TurnEvents } from './turn-events.ts';
import { callAll, decideAll, Gathering, type Input, readAll, runAll, type State } from './turn-inputs.ts';

/** Inputs per commit. A burst is split into several transactions. */
const MAX_INPUTS = 500;
/** How long a confirmed epoch counts as current; must be well below the margin of a lease. */
const EPOCH_CONFIRMED_MS = 10_000;
/** Delay before the state is read again after a failure, even without input. */
const RELOAD_DELAY_MS = 1_000;

export class Turns {
  readonly loader: Loader;
  readonly heartbeat: Heartbeat;
  readonly #db: Db;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #scheduling: SchedulerConfig;
  readonly #events: TurnEvents;
  readonly #claims: Claims;
  readonly #gathering: Gathering;
  readonly #inputs: Input[] = [];
  #state: State | undefined;
  #active = false;
  #confirmedMs = 0;
  #due = false;
  /** True from the first change of a turn until its commit. */
  #hasUncommittedChanges = false;
  /** True once a later coordinator has taken over. This one can never commit again. */
  #retired = false;

  constructor(
    db: Db,
    clock: Clock,
    log: Logger,
    scheduling: SchedulerConfig,
    events: TurnEvents,
    terms: ClaimTerms = {},
  ) {
    this.#db = db;
    this.loader = new Loader(db);
    this.#clock = clock;
    this.#gathering = new Gathering(clock);
    this.#log = log;
    this.#scheduling = scheduling;
    this.#events = events;
    this.heartbeat = new Heartbeat(db, clock, () => {
      if (!terms.yields) return this.confirmEpoch();
      events.doubted();
      this.enqueue(epochCheck(db));
    });
    this.#claims = new Claims(db, scheduling, terms, {
      claimed: (epoch) => terms.isBeating && this.heartbeat.start(epoch),
      resumed: (cluster) => events.resumed(cluster),
    });
  }

  /**
   * The state as of the last commit, plus changes if `hasUncommittedChanges`; undefined if none is loaded.
   */
  get cluster(): Cluster | undefined {
    return this.#state?.cluster;
  }

  /** The state with what was read beside it. Throws if none is loaded. */
  get loaded(): State {
    if (!this.#state) throw new Error('there is no state');
    return this.#state;
  }

  /** What to resume from after a sleep. Undefined while a turn runs, or if no state is loaded. */
  get holding(): Holding | undefined {
    const isIdle = !this.#active && !this.#due && this.#inputs.length === 0;
    return isIdle && this.#state ? { name: this.#claims.name, epoch: this.#state.epoch } : undefined;
  }

  /** While true, the state may be read, but its content must not be sent. */
  get hasUncommittedChanges(): boolean {
    return this.#hasUncommittedChanges;
  }

  /** Adds an input to the next turn. */
  enqueue(input: Input): void {
    this.#inputs.push(input);
    this.#gathering.added(input);
    this.wake();
  }

  /** Runs `change` in a turn. Resolves to its result once that is committed. */
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

  /**
   * Runs `view` on the state after a turn's decisions. If nothing has changed, no commit is made. The
   * services of the executions in `requires` are in memory.
   */
  query<T>(view: (cluster: Cluster, nowMs: number) => T, requires: Input['requires'] = () => []): Promise<T> {
    return new Promise((resolve, reject) => {
      this.enqueue({
        requires,
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

  /**
   * Runs a turn that checks whether another coordinator has taken over, even if there is nothing to commit.
   */
  confirmEpoch(): void {
    // Any other error than a takeover, such as an unreachable database, shows nothing.
    this.updateAsHolder(() => {}).catch(() => {});
  }

  /** Runs `change` in a turn that confirms the epoch, and resolves after it (see `holderInput`). */
  updateAsHolder(change: () => void): Promise<void> {
    return new Promise((done, fail) => this.enqueue(holderInput(this.#db, change, { done, fail })));
  }

  /** Runs a turn even without input: time alone may change the state. */
  wake(): void {
    this.#due = true;
    if (this.#active) return;
    this.#active = true;
    this.#clock.defer(() => void this.#work());
  }

  async #work(): Promise<void> {
    while (this.#due) {
      this.#due = false;
      const inputs = this.#inputs.splice(0, MAX_INPUTS);
      const beganMs = this.#clock.monotonicMs();
      await this.#turn(inputs);
      const tookMs = this.#clock.monotonicMs() - beganMs;
      this.#events.took(tookMs);
      await this.#gathering.afterTurn(inputs, tookMs);
      if (this.#inputs.length > 0) this.#due = true;
    }
    this.#active = false;
    this.#setAlarm();
  }

  async #turn(inputs: readonly Input[]): Promise<void> {
    let accepted: readonly Input[] = inputs;
    const prepared = new Set<Input>();
    let decisions: Decision[];
    let changes: Changes;
    let state: State;
    const nowMs = this.#clock.nowMs();
    try {
      if (this.#retired) throw new Error('another coordinator has taken over');
      state = await this.#loadState(nowMs);
      if (inputs.length > 0) await this.#confirmEpoch(state.epoch, nowMs);
      accepted = await readAll(inputs);
      this.#hasUncommittedChanges = true;
      for (const input of accepted) {
        await input.prepare?.(state);
        if (input.prepare) prepared.add(input);
      }
      accepted = await runAll(accepted, state.cluster, nowMs, this.loader);
      decisions = await decideAll(state.cluster, nowMs, this.loader);
      changes = state.cluster.changes;
      await commit(this.#db, state.epoch, state.cluster.takeChanges());
      this.#claims.committed();
      this.#hasUncommittedChanges = false;
    } catch (error) {
      this.#discardState(error, isStale(error) ? await this.#refused(accepted, prepared) : inputs);
      return;
    }
    const { cluster } = state;
    const callbacks = accepted.map((input) => () => input.done?.(cluster, nowMs));
    const fault = callAll([
      ...callbacks,
      () => this.#events.committed(decisions, cluster),
      () => this.#events.changed(changes, cluster),
    ]);
    unloadWaiting(cluster);
    // The turn is committed and cannot be undone, but it is unknown which clients have received it.
    if (fault !== undefined) this.#discardState(fault, []);
  }

  /**
   * Another coordinator has taken over, or a program has written beside this one: the database has refused
   * all of the turn but what `prepared` has written. Returns the inputs that can't run again.
   */
  async #refused(inputs: readonly Input[], prepared: ReadonlySet<Input>): Promise<readonly Input[]> {
    // Without an answer, the next claim of an epoch shows which of the two it is.
    this.#retired = await hasOtherHolder(this.#db, this.#claims.name).catch(() => false);
    const mayRun = (input: Input) => !this.#retired && input.mayRunAgain && !prepared.has(input);
    this.#inputs.unshift(...inputs.filter(mayRun));
    this.#due ||= !this.#retired;
    return inputs.filter((input) => !mayRun(input));
  }

  async #loadState(nowMs: number): Promise<State> {
    if (!this.#state) {
      // Another machine's clock may have recorded the silence of hosts (C257).
      const clock = this.#claims.followsAnother ? 'another' : 'same';
      this.#state = await this.#claims.take();
      const { epoch, cluster } = this.#state;
      resumeTimeouts(cluster, nowMs, clock);
      this.#log('coordinator.ready', {
        epoch,
        executions: cluster.executions.size,
        hosts: cluster.hosts.size,
      });
    }
    return this.#state;
  }

  /**
   * Agents with a lease stop their containers without contact. Only the current coordinator may grant
   * contact, since a later one counts the silence from its own start. Reports may need no commit, which would
   * reveal that another has taken over.
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
    this.loader.clear();
    this.heartbeat.stop();
    this.#state = undefined;
    this.#hasUncommittedChanges = false;
    this.#confirmedMs = 0;
    if (isSuperseded(error)) this.#retired = true;
    this.#log('coordinator.lost', { error: String(error), retired: this.#retired });
    const message = this.#retired
      ? 'Another control plane has taken over this database; use that one, or restart this one.'
      : 'The database did not confirm the change. Try again.';
    const callbacks = inputs.map(
      (input) => () => input.fail(new OperationError('unavailable', message, { cause: error })),
    );
    // Must not throw, or no further turn would run.
    const fault = callAll([...callbacks, () => this.#events.lost(this.#retired)]);
    if (fault !== undefined) this.#log('coordinator.fault', { error: String(fault) });
  }

  #setAlarm(): void {
    if (this.#retired) this.#clock.wakeAt(null);
    else if (!this.#state) this.#clock.wakeAt(this.#clock.nowMs() + RELOAD_DELAY_MS);
    else {
      const reviewMs = this.#events.nextReviewMs();
      this.#clock.wakeAt(Math.min(nextDeadline(this.#state.cluster) ?? reviewMs, reviewMs));
    }
  }
}
