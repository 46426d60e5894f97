/**
 * Turns: collect inputs, decide (`reconcile`), commit, then answer callers and send to agents. Nothing is
 * answered or sent before its commit. After a failed commit the state in memory is discarded and read again,
 * because the content of the database is then unknown (COORD-1).
 */
import { concernsQueue } from '../core/accounts/account-input.ts';
import { clockStepMs, handleClockStep, type Moment } from '../core/hosts/clock-step.ts';
import { resumeTimeouts } from '../core/hosts/host-liveness.ts';
import { indexHosts, nextDeadline } from '../core/lifecycle/reconciler.ts';
import { OperationError } from '../core/model/errors.ts';
import type { Execution } from '../core/model/execution.ts';
import type { SchedulerConfig } from '../core/model/scheduler-config.ts';
import type { Changes } from '../core/state/changes.ts';
import type { Cluster } from '../core/state/cluster.ts';
import type { Decision } from '../core/state/decision.ts';
import { unloadWaiting } from '../core/state/loading.ts';
import { commit } from '../store/cluster/cluster-rows.ts';
import { DatabaseError, type Db, LOCKED } from '../store/db/db.ts';
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
import { InputQueue } from './input-queue.ts';
import { Loader } from './loader.ts';
import type { Clock, Logger } from './ports.ts';
import {
  callAll,
  decideAll,
  Gathering,
  type Input,
  readAll,
  readDatabase,
  runAll,
  type State,
} from './turn-inputs.ts';

/** What a turn reports to the rest of the coordinator. */
export interface TurnEvents {
  /**
   * After a sleep: the state was read, before the first turn. Undefined: another coordinator has taken over.
   */
  resumed(cluster: Cluster | undefined): void;
  /** The turn is committed; its decisions may be sent to the agents. */
  committed(decisions: readonly Decision[], cluster: Cluster): void;
  /** Called after `committed`, with the objects that the turn has changed. */
  changed(changes: Changes, cluster: Cluster): void;
  /** The turn that is committed has found the wall clock set by that much. Called before `committed`. */
  clockStepped(stepMs: number): void;
  /** A turn has ended, committed or not. */
  took(durationMs: number): void;
  /**
   * A standby may have taken over: a turn will confirm that none has, as soon as the database answers. Called
   * before that turn, and again with each beat until then.
   */
  doubted(): void;
  /**
   * The state was discarded, so clients may have received wrong data. Retired: there will be no other state.
   */
  lost(isRetired: boolean): void;
  /** When the next review of the history is due. Any turn from then on begins it. */
  nextReviewMs(): number;
}

/** How often what a query requires is read again, if it has changed meanwhile. */
const MAX_READS = 5;
/** How long a confirmed epoch counts as current; must be well below the margin of a lease. */
const EPOCH_CONFIRMED_MS = 10_000;
/** How long changes wait while another process holds the write lock, and how often that is checked. */
const LOCK_WAIT_MS = 1_000;
const LOCK_CHECK_MS = 20;
/** How long a commit waits for a process that has taken the lock since the turn began. */
const COMMIT_WAIT_MS = 15_000;
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
  readonly #inputs = new InputQueue();
  #state: State | undefined;
  #active = false;
  /** On the monotonic clock. */
  #confirmedMs = Number.NEGATIVE_INFINITY;
  /** The last turn that was committed: the times in the database are of its clock. */
  #committed: Moment | null = null;
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
      this.enqueue(epochCheck);
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
    const isIdle = !this.#active && !this.#due && this.#inputs.size === 0;
    return isIdle && this.#state ? { name: this.#claims.name, epoch: this.#state.epoch } : undefined;
  }

  /** While true, the state may be read, but its content must not be sent. */
  get hasUncommittedChanges(): boolean {
    return this.#hasUncommittedChanges;
  }

  /** Adds an input to the next turn. */
  enqueue(input: Input): void {
    this.#inputs.add(input);
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

  /** Runs `view` on the state after a turn's decisions. If nothing has changed, no commit is made. */
  query<T>(view: (cluster: Cluster, nowMs: number) => T, userId?: number): Promise<T> {
    return this.#view(view, { userId });
  }

  /**
   * The same on a state that has the services of the executions that `requires` returns. They are read
   * outside of turns, and again if they have changed meanwhile. If they keep changing, `view` runs without.
   */
  async queryLoaded<T>(
    view: (cluster: Cluster, nowMs: number) => T,
    requires: (cluster: Cluster, nowMs: number) => readonly Execution[],
    userId?: number,
  ): Promise<T> {
    for (let triesLeft = MAX_READS; ; triesLeft--) {
      const cluster = this.#state?.cluster ?? (await this.query((current) => current));
      const required = requires(cluster, this.#clock.nowMs());
      const reads = await readDatabase(this.loader.read(required));
      let isComplete = false;
      const viewed = await this.#view(
        (current, nowMs) => (isComplete || triesLeft === 0 ? { result: view(current, nowMs) } : undefined),
        {
          userId,
          run: (current) => {
            isComplete = current === cluster && this.loader.loadRead(current, required, reads);
          },
        },
      );
      if (viewed) return viewed.result;
    }
  }

  #view<T>(
    view: (cluster: Cluster, nowMs: number) => T,
    { userId, run = () => {} }: Partial<Pick<Input, 'userId' | 'run'>>,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      this.enqueue({
        kind: 'view',
        userId,
        run,
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
    return new Promise((done, fail) => this.enqueue(holderInput(change, { done, fail })));
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
      await this.#lockIsFree();
      this.#due = false;
      const inputs = this.#inputs.take();
      const beganMs = this.#clock.monotonicMs();
      await this.#turn(inputs);
      const tookMs = this.#clock.monotonicMs() - beganMs;
      this.#events.took(tookMs);
      await this.#gathering.afterTurn(inputs, tookMs);
      if (this.#inputs.size > 0) this.#due = true;
    }
    this.#active = false;
    this.#setAlarm();
  }

  /**
   * While another process holds the write lock, nothing is decided, since nothing could be committed (H810).
   */
  async #lockIsFree(): Promise<void> {
    const sinceMs = this.#clock.monotonicMs();
    while (!this.#retired && this.#db.isLocked?.()) {
      this.#answerViews();
      if (this.#clock.monotonicMs() - sinceMs >= LOCK_WAIT_MS) this.#refuseChanges();
      await new Promise<void>((resolve) => this.#clock.after(LOCK_CHECK_MS, resolve));
    }
  }

  /** Answers the queries that wait, from the last commit. */
  #answerViews(): void {
    const cluster = this.#state?.cluster;
    if (!cluster) return;
    const nowMs = this.#clock.nowMs();
    for (const view of this.#inputs.remove(({ kind }) => kind === 'view')) {
      const fault = callAll([() => view.run(cluster, nowMs), () => view.done?.(cluster, nowMs)]);
      if (fault !== undefined) view.fail(fault);
    }
    unloadWaiting(cluster);
  }

  /** Refuses the changes that wait. Queries that can't be answered are refused with them. */
  #refuseChanges(): void {
    for (const change of this.#inputs.remove(({ kind }) => kind !== 'report'))
      change.fail(new OperationError('unavailable', LOCKED));
  }

  /** Commits, if need be after a process that has taken the write lock since the turn began. */
  async #commit({ epoch, cluster }: State): ReturnType<typeof commit> {
    const changes = cluster.takeChanges();
    const untilMs = this.#clock.monotonicMs() + COMMIT_WAIT_MS;
    for (;;) {
      try {
        return await commit(this.#db, epoch, changes);
      } catch (error) {
        const isLocked = error instanceof DatabaseError && error.isLocked;
        if (!isLocked || this.#clock.monotonicMs() >= untilMs) throw error;
        this.#refuseChanges();
      }
    }
  }

  async #turn(inputs: readonly Input[]): Promise<void> {
    let accepted: readonly Input[] = inputs;
    let decisions: Decision[];
    let changes: Changes;
    let state: State;
    let settleAccounts: ((cluster: Cluster) => void) | undefined;
    const postponed: Input[] = [];
    const moment = { nowMs: this.#clock.nowMs(), monotonicMs: this.#clock.monotonicMs() };
    const { nowMs } = moment;
    const stepMs = clockStepMs(this.#committed, moment);
    try {
      if (this.#retired) throw new Error('another coordinator has taken over');
      state = await this.#loadState(moment);
      const [read, problem] = await Promise.all([readAll(inputs), this.#confirmEpoch(inputs, state.epoch)]);
      accepted = read;
      this.#hasUncommittedChanges = true;
      for (const { confirmed } of accepted) confirmed?.(problem);
      accepted = await runAll(accepted, state.cluster, nowMs, this.loader, (input) => postponed.push(input));
      changes = state.cluster.changes;
      // Nothing may start by a quota that the same commit changes.
      const isQuotaOpen = changes.accounts.some(({ change }) => concernsQueue(change));
      if (isQuotaOpen) indexHosts(state.cluster);
      decisions = isQuotaOpen ? [] : await decideAll(state.cluster, nowMs, this.loader);
      settleAccounts = await this.#commit(state);
      this.#committed = moment;
      this.#claims.committed();
      this.loader.committed(changes, state.cluster);
      this.#hasUncommittedChanges = false;
    } catch (error) {
      this.#discardState(error, isStale(error) ? await this.#refused([...accepted, ...postponed]) : inputs);
      return;
    }
    this.#inputs.addAgain(postponed);
    const { cluster } = state;
    // What follows from changed users and quotas is decided by the next turn.
    this.#due ||= changes.accounts.length > 0;
    const callbacks = accepted.map((input) => () => input.done?.(cluster, nowMs));
    const fault = callAll([
      () => settleAccounts?.(cluster),
      () => stepMs !== 0 && this.#events.clockStepped(stepMs),
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
   * all of the turn. Returns the inputs that can't run again.
   */
  async #refused(inputs: readonly Input[]): Promise<readonly Input[]> {
    // Without an answer, the next claim of an epoch shows which of the two it is.
    this.#retired = await hasOtherHolder(this.#db, this.#claims.name).catch(() => false);
    const mayRun = (input: Input) => !this.#retired && input.mayRunAgain;
    this.#inputs.addAgain(inputs.filter(mayRun));
    this.#due ||= !this.#retired;
    return inputs.filter((input) => !mayRun(input));
  }

  async #loadState(moment: Moment): Promise<State> {
    if (this.#state) handleClockStep(this.#state.cluster, this.#committed, moment);
    else {
      // Another machine's clock may have recorded the silence of hosts (C257).
      const clock = this.#claims.followsAnother ? 'another' : 'same';
      this.#state = await this.#claims.take();
      const { epoch, cluster } = this.#state;
      handleClockStep(cluster, this.#committed, moment);
      resumeTimeouts(cluster, moment.nowMs, clock);
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
   * reveal that another has taken over. Some inputs require the same; for these alone, a database that does
   * not answer is a problem to resolve to.
   */
  async #confirmEpoch(inputs: readonly Input[], epoch: Epoch): Promise<unknown> {
    const nowMs = this.#clock.monotonicMs();
    const isDue =
      inputs.length > 0 &&
      this.#scheduling.hostLossPolicy === 'requeue' &&
      nowMs - this.#confirmedMs >= EPOCH_CONFIRMED_MS;
    if (!isDue && !inputs.some(({ confirmed }) => confirmed)) return undefined;
    try {
      await this.#db.batch([fence(epoch)]);
      this.#confirmedMs = nowMs;
      return undefined;
    } catch (error) {
      if (isDue || isStale(error)) throw error;
      return error;
    }
  }

  #discardState(error: unknown, inputs: readonly Input[]): void {
    this.loader.clear();
    this.heartbeat.stop();
    this.#state = undefined;
    this.#hasUncommittedChanges = false;
    this.#confirmedMs = Number.NEGATIVE_INFINITY;
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
