/**
 * The coordinator's API for operations, whether the coordinator runs in this process or in a Durable Object.
 */
import type { AgentRelease } from '../../shared/protocol/release.ts';
import type { Caller, KnownActor } from '../core/accounts/account.ts';
import type { AccountChange, WriteOutcome } from '../core/accounts/account-input.ts';
import type { AuditEntry } from '../core/accounts/audit.ts';
import type { Allowance } from '../core/accounts/quota.ts';
import type { HostChanges } from '../core/hosts/drain.ts';
import type { HostRemoval } from '../core/hosts/host-removal.ts';
import type { Registration } from '../core/hosts/registration.ts';
import type { Submission } from '../core/lifecycle/submission.ts';
import type { Family } from '../core/metrics/family.ts';
import type { Made, RequestKey, UserKey } from '../core/model/idempotency.ts';
import type { EventSubscriber } from '../core/streams/events.ts';
import type { Explanation } from '../core/views/explanation.ts';
import type { HostView } from '../core/views/host-view.ts';
import type { ClusterOverview, HostOverview, OverviewSearch, UserUsage } from '../core/views/overview.ts';
import type { SchedulerSnapshot, SchedulerStatistics } from '../core/views/statistics.ts';
import type { WaitingReason } from '../core/views/waiting-reasons.ts';

export type { OpenLog } from './streams/service-logs.ts';

/** Every method rejects with OperationError and no other error. */
export interface CoordinatorApi {
  /** Resolves once the coordinator has its state and accepts work. */
  ready(): Promise<void>;
  /**
   * Resolves to the id of the execution once it is committed. It is authorised as of the commit, as are the
   * next three; without `by`, it is Berth's own. A repeat with the same `key` resolves to the first id.
   */
  submit(submission: Submission, by?: Caller, key?: RequestKey): Promise<Made>;
  /** Resolves once the end is committed. Containers may still be stopping. What has ended is a `conflict`. */
  terminate(executionId: number, by?: Caller): Promise<void>;
  /** Changes the time limit of an execution that has not ended; null removes it. */
  limitTime(executionId: number, limitS: number | null, by?: Caller): Promise<void>;
  /** Hides the execution at once, and terminates it if it has not ended. */
  remove(executionId: number, by?: Caller): Promise<void>;
  /**
   * Streams changes as lines of EventFrame, from now on or after the subscriber's last event id. The stream
   * ends from time to time (STREAM-3).
   */
  openEvents(subscriber: EventSubscriber): Promise<ReadableStream<Uint8Array>>;
  /**
   * Position from which `openEvents` misses no change after this call; null if the coordinator has no state.
   */
  lastEventId(): Promise<string | null>;
  /**
   * Re-checks open streams after a change to a user's permissions (`null`: every user's). Event streams are
   * closed and reconnect; channels end only if their subscriber has lost access.
   */
  reviewSubscriptions(userId: number | null): Promise<void>;
  /**
   * Call this after a session or token of a user (`null`: any user) has ended, or its rights have changed.
   * From then on, no change is made by what the coordinator knew before.
   */
  forgetCredentials(userId: number | null): Promise<void>;
  /**
   * Changes a user or a quota, or creates a role or a join token. Resolves to the outcome once it is
   * committed; every later decision uses the new values. A repeat of a creation with the same `key` resolves
   * to the first outcome. `entry` is recorded with the change (ACC-13), here and below.
   */
  changeAccounts(change: AccountChange, key?: UserKey, entry?: AuditEntry): Promise<WriteOutcome>;
  /**
   * Creates a host, or finds the one that this registration created before. Resolves to its id once that is
   * committed.
   */
  registerHost(registration: Registration): Promise<number>;
  /** The queue, the running and ending executions, and the load of the hosts. */
  state(): Promise<SchedulerSnapshot>;
  /** Counts of what `state` lists, and of what was removed from the history. */
  summary(): Promise<SchedulerStatistics>;
  /** `maxHosts`: how many hosts have metrics of their own. */
  metrics(maxHosts: number): Promise<Family[]>;
  /**
   * Why an execution has its present state; null if it has ended. Nothing is read before `by` is authorised.
   */
  explain(executionId: number, by?: KnownActor): Promise<Explanation | null>;
  /** Why those of these executions wait that are queued, as far as that is known (W172). */
  waitingReasons(executionIds: readonly number[]): Promise<WaitingReason[]>;
  /** What would happen to the submission if it were made now. */
  explainSubmission(submission: Submission): Promise<Explanation>;
  /** The user's quota, and how much of it is in use. */
  allowance(userId: number): Promise<Allowance>;
  /**
   * Progress of each service's start, as its host reports it; empty if there is no report, or if the service
   * is not starting.
   */
  progress(serviceIds: readonly number[]): Promise<string[]>;
  /** In the order of their registration. */
  hosts(): Promise<HostView[]>;
  host(hostId: number): Promise<HostOverview>;
  /** Summary of the cluster: hosts, queue, and the last hour. */
  overview(search: OverviewSearch): Promise<ClusterOverview>;
  /** Current usage of every user with something running. */
  usages(): Promise<UserUsage[]>;
  /**
   * Resolves once the change and its immediate consequences are committed. Services may still be stopping.
   */
  changeHost(hostId: number, changes: HostChanges, entry?: AuditEntry): Promise<void>;
  /** Resolves once the host is removed. Its agent is notified if it is connected. */
  removeHost(hostId: number, force: boolean, entry?: AuditEntry): Promise<HostRemoval>;
  /**
   * Requests that the host's agent updates itself. Resolves once that is sent: the host then states the new
   * version, or why the update has failed.
   */
  updateAgent(hostId: number, release: AgentRelease, entry?: AuditEntry): Promise<void>;
}

export type CoordinatorVerb = keyof CoordinatorApi;

/**
 * Every verb, for calls across RPC. The compiler requires an entry for each method of CoordinatorApi, and
 * allows no others.
 */
const verbs: Record<CoordinatorVerb, true> = {
  ready: true,
  submit: true,
  terminate: true,
  limitTime: true,
  remove: true,
  openEvents: true,
  lastEventId: true,
  reviewSubscriptions: true,
  forgetCredentials: true,
  changeAccounts: true,
  registerHost: true,
  state: true,
  summary: true,
  metrics: true,
  explain: true,
  waitingReasons: true,
  explainSubmission: true,
  allowance: true,
  progress: true,
  hosts: true,
  host: true,
  overview: true,
  usages: true,
  changeHost: true,
  removeHost: true,
  updateAgent: true,
};

export const coordinatorVerbs = Object.keys(verbs) as readonly CoordinatorVerb[];
