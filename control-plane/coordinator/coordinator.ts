/**
 * The coordinator: the single writer of executions, services, hosts, users and quotas. This class implements
 * the API for operations. turns.ts orders the work, agents/ serves the agents, core/ decides.
 */
import { authoriseOwned, type KnownActor } from '../core/accounts/account.ts';
import type { WriteOutcome } from '../core/accounts/account-input.ts';
import type { Allowance } from '../core/accounts/quota.ts';
import type { HostRemoval } from '../core/hosts/host-removal.ts';
import { draft } from '../core/lifecycle/admission.ts';
import { assertEnabled, type Submission } from '../core/lifecycle/submission.ts';
import { CoordinatorCounts } from '../core/metrics/coordinator-counts.ts';
import type { Family } from '../core/metrics/family.ts';
import type { Made } from '../core/model/idempotency.ts';
import type { SchedulerConfig } from '../core/model/scheduler-config.ts';
import { progressOf } from '../core/model/service.ts';
import { restoreReservation, savedReservation } from '../core/scheduling/backfill-reservation.ts';
import type { Cluster } from '../core/state/cluster.ts';
import type { Decision } from '../core/state/decision.ts';
import type { EventSubscriber } from '../core/streams/events.ts';
import type { AwakeSummary } from '../core/views/awake-totals.ts';
import { type Explanation, explainLive, explainSubmission } from '../core/views/explanation.ts';
import { type HostView, hostViewsOf } from '../core/views/host-view.ts';
import {
  allowanceOf,
  type ClusterOverview,
  type HostOverview,
  Overview,
  type OverviewSearch,
  type UserUsage,
  usagesOf,
} from '../core/views/overview.ts';
import {
  type SchedulerSnapshot,
  type SchedulerStatistics,
  schedulerSnapshotOf,
  schedulerSummaryOf,
} from '../core/views/statistics.ts';
import type { Db } from '../store/db/db.ts';
import type { ClaimTerms } from '../store/db/epoch.ts';
import { Agents, type AgentsDeps } from './agents/agents.ts';
import { AccountChanges } from './changes/account-changes.ts';
import { Credentials } from './changes/credentials.ts';
import { ExecutionChanges, ownerOf } from './changes/execution-changes.ts';
import { HistoryReview } from './changes/history-review.ts';
import { HostRegister } from './changes/host-register.ts';
import { IdempotencyKeys } from './changes/idempotency-keys.ts';
import { SavedSamples } from './changes/saved-samples.ts';
import type { CoordinatorApi } from './coordinator-api.ts';
import { readMetrics } from './coordinator-metrics.ts';
import type { Clock } from './ports.ts';
import type { SavedCoordinator } from './sleep/saved-state.ts';
import { Events } from './streams/events.ts';
import type { OpenPlacement } from './streams/placement.ts';
import { type PlacementRequest, type PlacementSource, Placements } from './streams/placements.ts';
import { type TurnEvents, Turns } from './turns.ts';

/** The parts of a coordinator: its database, clock and log, its configuration, and how it claims epochs. */
export interface CoordinatorDeps extends AgentsDeps {
  db: Db;
  scheduling: SchedulerConfig;
  /** Days for which ended executions are kept; 0: for ever. Absent: what the database records (C243). */
  keepEndedDays?: number | undefined;
  claim?: ClaimTerms;
  /** Set for a coordinator that has slept. */
  resumes?: SavedCoordinator | undefined;
  /** How long objects were awake, where the coordinator is one that can sleep. */
  awake?: () => Promise<AwakeSummary>;
  /** Called once another coordinator has taken over. */
  retired?: (() => void) | undefined;
}

export class Coordinator implements CoordinatorApi, PlacementSource {
  /** Serves the connections of agents. */
  readonly agents: Agents;
  readonly #awake: CoordinatorDeps['awake'];
  readonly #clock: Clock;
  readonly #turns: Turns;
  readonly #placements: Placements;
  readonly #events: Events;
  readonly #overview = new Overview();
  readonly #samples: SavedSamples;
  readonly #credentials: Credentials;
  readonly #keys: IdempotencyKeys;
  readonly #accounts: AccountChanges;
  readonly #executions: ExecutionChanges;
  readonly #history: HistoryReview;
  readonly #hosts: HostRegister;
  readonly #counts = new CoordinatorCounts();

  constructor(deps: CoordinatorDeps) {
    const { db, clock, log, scheduling, claim, resumes } = deps;
    this.#awake = deps.awake;
    this.#clock = clock;
    const events: TurnEvents = {
      resumed: (cluster) => {
        if (!cluster) return this.agents.dropAll();
        this.agents.saved.loaded(cluster);
        if (resumes?.reservation) restoreReservation(cluster, resumes.reservation);
      },
      committed: (decisions, cluster) => this.#committed(decisions, cluster),
      changed: (changes, cluster) => {
        this.#events.changed(changes, cluster);
        this.#history.audited(changes.audited.length);
        this.#placements.changed(cluster);
      },
      clockStepped: (stepMs) => {
        this.#overview.clockStepped(stepMs);
        this.#samples.clockStepped(stepMs);
      },
      doubted: () => this.agents.perHost.sendAway(log),
      took: (durationMs) => this.#counts.turns.add(durationMs),
      lost: (isRetired) => {
        this.#counts.losses += 1;
        this.#credentials.forget(null);
        this.#keys.forget();
        this.agents.dropAll();
        this.#events.lost();
        if (isRetired) this.#placements.retired();
        if (isRetired) deps.retired?.();
      },
      nextReviewMs: () => this.#history.dueMs,
    };
    const terms = { ...claim, ...(resumes && { resumes: resumes.holding }) };
    const timed = timedDb(db, clock, (durationMs) => this.#counts.commits.add(durationMs));
    this.#turns = new Turns(timed, clock, log, scheduling, events, terms);
    this.agents = new Agents(this.#turns, { ...deps, traffic: this.#counts.traffic });
    this.#placements = new Placements(db, this.#turns, this.agents, clock, scheduling.streams);
    this.#events = new Events(this.#turns, clock);
    this.#credentials = new Credentials(db, clock);
    this.#keys = new IdempotencyKeys(db, scheduling.bounds.idempotencyKeysPerUser);
    const changes = {
      db,
      turns: this.#turns,
      credentials: this.#credentials,
      keys: this.#keys,
      nowMs: () => clock.nowMs(),
    };
    this.#accounts = new AccountChanges({ ...changes, audited: () => this.#history.audited(1) });
    this.#executions = new ExecutionChanges(changes);
    this.#history = new HistoryReview(this.#turns, deps);
    this.#samples = new SavedSamples(this.#turns, deps, this.#overview);
    this.#hosts = new HostRegister(db, this.#turns, this.agents);
  }

  /**
   * Runs a turn: reads the state if necessary, and does what is due. The clock calls this at each deadline.
   */
  wake(): void {
    this.#turns.wake();
  }

  /** While true, agents must look for another control plane: one may have taken over (C256). */
  get isCutOff(): boolean {
    return this.#turns.heartbeat.isUnanswered;
  }

  /** What to resume from after a sleep. Undefined: something is under way, or no state is loaded (C232). */
  get saved(): SavedCoordinator | undefined {
    const isIdle = this.#events.size + this.#placements.size === 0 && !this.#history.isActive;
    const holding = isIdle ? this.#turns.holding : undefined;
    return holding && { holding, reservation: savedReservation(this.#turns.loaded.cluster) };
  }

  /** The key of a host; undefined if none is known, or if no state is loaded. */
  keyOf(hostId: number): string | undefined {
    return this.#turns.cluster?.hosts.get(hostId)?.publicKey ?? undefined;
  }

  async ready(): Promise<void> {
    if (!this.#turns.cluster) await this.#turns.update(() => {});
  }

  submit(...args: Parameters<CoordinatorApi['submit']>): Promise<Made> {
    return this.#executions.submit(...args);
  }

  terminate(...args: Parameters<CoordinatorApi['terminate']>): Promise<void> {
    return this.#executions.terminate(...args);
  }

  limitTime(...args: Parameters<CoordinatorApi['limitTime']>): Promise<void> {
    return this.#executions.limitTime(...args);
  }

  remove(...args: Parameters<CoordinatorApi['remove']>): Promise<void> {
    return this.#executions.remove(...args);
  }

  place(request: PlacementRequest): Promise<OpenPlacement> {
    return this.#placements.open(request);
  }

  openEvents(subscriber: EventSubscriber): Promise<ReadableStream<Uint8Array>> {
    return this.#turns.query((cluster) => this.#events.open(subscriber, cluster));
  }

  async lastEventId(): Promise<string | null> {
    await this.ready();
    return this.#events.lastId;
  }

  async reviewSubscriptions(userId: number | null): Promise<void> {
    this.#events.end(userId);
    await this.#placements.review(userId);
    await this.#placements.revoked();
  }

  forgetCredentials(userId: number | null): Promise<void> {
    return this.#turns.updateAsHolder(() => this.#credentials.forget(userId));
  }

  /** For a process that stops: closes all event streams cleanly, so that their subscribers reconnect. */
  endEvents(): void {
    this.#events.end(null);
  }

  async changeAccounts(...args: Parameters<CoordinatorApi['changeAccounts']>): Promise<WriteOutcome> {
    const outcome = await this.#accounts.change(...args);
    await this.#placements.revoked();
    return outcome;
  }

  registerHost(...args: Parameters<CoordinatorApi['registerHost']>): Promise<number> {
    return this.#hosts.register(...args);
  }

  state(): Promise<SchedulerSnapshot> {
    return this.#turns.query(schedulerSnapshotOf);
  }

  async summary(): Promise<SchedulerStatistics> {
    const awake = (await this.#awake?.()) ?? null;
    return this.#turns.query((cluster) => ({
      ...schedulerSummaryOf(cluster),
      history: this.#history.summary(),
      awake,
    }));
  }

  metrics(maxHosts: number): Promise<Family[]> {
    const parts = {
      history: this.#history,
      keys: this.#keys,
      events: this.#events,
      placements: this.#placements,
    };
    const counted = { ...parts, counts: this.#counts, agents: this.agents.perHost };
    return readMetrics(this.#turns, this.#clock, counted, maxHosts);
  }

  explain(executionId: number, by?: KnownActor): Promise<Explanation | null> {
    const authorised = ({ executions }: Cluster) => {
      const execution = executions.get(executionId);
      if (by && execution) authoriseOwned(by, 'read-execution', ownerOf(execution));
      return execution;
    };
    return this.#turns.queryLoaded(
      (cluster, nowMs) => (authorised(cluster) ? explainLive(cluster, executionId, nowMs) : null),
      (cluster) => [authorised(cluster) ?? []].flat().filter(({ status }) => status === 'queued'),
      by?.user.id,
    );
  }

  waitingReasons(executionIds: readonly number[]) {
    return this.#turns.queryLoaded(
      (cluster, nowMs) => this.#overview.reasons.of(cluster, executionIds, nowMs),
      (cluster, nowMs) => this.#overview.reasons.due(cluster, executionIds, nowMs),
    );
  }

  allowance(userId: number): Promise<Allowance> {
    return this.#turns.query((cluster) => {
      assertEnabled(cluster, userId);
      return allowanceOf(cluster, userId);
    }, userId);
  }

  progress(serviceIds: readonly number[]): Promise<string[]> {
    return this.#turns.query(({ services }) => serviceIds.map((id) => progressOf(services.get(id))));
  }

  explainSubmission(submission: Submission): Promise<Explanation> {
    return this.#turns.query(
      (cluster, nowMs) => explainSubmission(cluster, draft(cluster, submission, nowMs), nowMs),
      submission.userId,
    );
  }

  async hosts(): Promise<HostView[]> {
    await this.agents.freshReports.request();
    return this.#turns.query(hostViewsOf);
  }

  async host(hostId: number): Promise<HostOverview> {
    await Promise.all([this.agents.freshReports.request(), this.#samples.loaded()]);
    return this.#turns.query((cluster, nowMs) => this.#overview.host(cluster, hostId, nowMs));
  }

  async overview(search: OverviewSearch): Promise<ClusterOverview> {
    await Promise.all([this.agents.freshReports.request(), this.#samples.loaded()]);
    return this.#turns.queryLoaded(
      (cluster, nowMs) => this.#overview.of(cluster, search, nowMs),
      (cluster, nowMs) => this.#overview.head(cluster, search, nowMs),
    );
  }

  usages(): Promise<UserUsage[]> {
    return this.#turns.query(usagesOf);
  }

  changeHost(...args: Parameters<CoordinatorApi['changeHost']>): Promise<void> {
    return this.#hosts.change(...args);
  }

  removeHost(...args: Parameters<CoordinatorApi['removeHost']>): Promise<HostRemoval> {
    return this.#hosts.remove(...args);
  }

  updateAgent(...args: Parameters<CoordinatorApi['updateAgent']>): Promise<void> {
    return this.#hosts.updateAgent(...args);
  }

  #committed(decisions: readonly Decision[], cluster: Cluster): void {
    this.agents.committed(decisions, cluster);
    this.#history.committed(decisions);
    this.#counts.decided(decisions);
    this.#overview.note(cluster, this.#clock.nowMs());
    this.#samples.committed();
  }
}

/**
 * A database whose transactions are timed, for the metrics of the coordinator. `took` is called after each
 * transaction, also after one that has failed.
 */
const timedDb = (db: Db, clock: Pick<Clock, 'monotonicMs'>, took: (durationMs: number) => void): Db => {
  const timed = async <T>(transaction: () => Promise<T>): Promise<T> => {
    const beganMs = clock.monotonicMs();
    try {
      return await transaction();
    } finally {
      took(clock.monotonicMs() - beganMs);
    }
  };
  return {
    query: (sql, args) => db.query(sql, args),
    batch: (statements) => timed(() => db.batch(statements)),
    batchRows: (statements) => timed(() => db.batchRows(statements)),
    ...(db.readTogether && { readTogether: (reads) => db.readTogether?.(reads) ?? Promise.resolve([]) }),
    ...(db.shrink && { shrink: (maxPages) => db.shrink?.(maxPages) ?? Promise.resolve(0) }),
    ...(db.isLocked && { isLocked: () => db.isLocked?.() ?? false }),
    close: () => db.close(),
  };
};
