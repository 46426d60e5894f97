/** Owns what operations may ask of the coordinator, wherever that is: in this process, or in a Durable Object. */
import type { LogFormat } from '../../shared/protocol/down.ts';
import type { AccountChange } from '../core/accounts/account-input.ts';
import type { Allowance } from '../core/accounts/quota.ts';
import type { HostChanges, HostRemoval } from '../core/hosts/drain.ts';
import type { Registration } from '../core/hosts/registration.ts';
import type { Submission } from '../core/lifecycle/submission.ts';
import type { EventSubscriber } from '../core/streams/events.ts';
import type { LogPosition } from '../core/streams/log-frames.ts';
import type { LogSubscriber } from '../core/streams/stream-subscriber.ts';
import type { Explanation } from '../core/views/explanation.ts';
import type { HostDetail, HostView } from '../core/views/host-view.ts';
import type { ClusterOverview, OverviewSearch, UserUsage } from '../core/views/overview.ts';
import type { SchedulerState, SchedulerSummary } from '../core/views/statistics.ts';
import type { WriteOutcome } from '../store/accounts/account-writes.ts';

/** Every method rejects with OperationError, and with nothing else. */
export interface CoordinatorApi {
  /** Resolves when it has its state and can take work. */
  ready(): Promise<void>;
  /** Resolves to the id of the execution once it is committed. */
  submit(submission: Submission): Promise<number>;
  /** Resolves once the end is committed; containers may still be going. */
  terminate(executionId: number): Promise<void>;
  /** Hides the execution at once; it is terminated first where it has not ended. */
  remove(executionId: number): Promise<void>;
  /**
   * Output of a service from its first byte; ends when no more will come, and breaks off where the reader may read no
   * more. With `from` it begins there, in frames (core/log-frames.ts).
   */
  openLog(
    subscriber: LogSubscriber,
    serviceId: number,
    format: LogFormat,
    from?: LogPosition,
  ): Promise<ReadableStream<Uint8Array>>;
  /** What changes from here on, or since what the reader has seen, as lines of EventFrame; ends now and then (Events). */
  openEvents(subscriber: EventSubscriber): Promise<ReadableStream<Uint8Array>>;
  /** Where `openEvents` goes on without missing what changes from now on; null where nobody knows. */
  lastEventId(): Promise<string | null>;
  /**
   * What lets a user read, or any (null), has changed: streams of events end, whose readers come back and show again who
   * they are; those of logs break off for who would not be let in any more.
   */
  reviewSubscriptions(userId: number | null): Promise<void>;
  /** Changes a user or a quota; resolves, once committed, to what became of it. Every later decision goes by it. */
  changeAccounts(change: AccountChange): Promise<WriteOutcome>;
  /** Makes a host, or finds the one that this registration has made already; resolves to its id once that is committed. */
  registerHost(registration: Registration): Promise<number>;
  /** What waits, runs and ends, and how full the hosts are. */
  state(): Promise<SchedulerState>;
  /** The same in a few numbers. */
  summary(): Promise<SchedulerSummary>;
  /** Why an execution is where it is; null where it has ended. */
  explain(executionId: number): Promise<Explanation | null>;
  /** What would become of it now, were it submitted. */
  explainSubmission(submission: Submission): Promise<Explanation>;
  /** What the user's quota allows, and what of it is taken. */
  allowance(userId: number): Promise<Allowance>;
  /** What the hosts of services do towards their starts, of each; empty where nobody said, and where it does not start. */
  progress(serviceIds: readonly number[]): Promise<string[]>;
  /** In the order in which they joined. */
  hosts(): Promise<HostView[]>;
  host(hostId: number): Promise<HostDetail>;
  /** All of it at a glance: hosts, queue, the last hour. */
  overview(search: OverviewSearch): Promise<ClusterOverview>;
  /** What counts under quotas now, of all of whom anything runs. */
  usages(): Promise<UserUsage[]>;
  /** Resolves when the change, and what follows at once, is committed; services may still be leaving. */
  changeHost(hostId: number, changes: HostChanges): Promise<void>;
  /** Resolves when it is no host any more; its agent is told where it is connected. */
  removeHost(hostId: number, force: boolean): Promise<HostRemoval>;
}

export type CoordinatorVerb = keyof CoordinatorApi;

/** Every verb, for calls across RPC. The type requires one entry for each method of CoordinatorApi, and no other. */
const verbs: Record<CoordinatorVerb, true> = {
  ready: true,
  submit: true,
  terminate: true,
  remove: true,
  openLog: true,
  openEvents: true,
  lastEventId: true,
  reviewSubscriptions: true,
  changeAccounts: true,
  registerHost: true,
  state: true,
  summary: true,
  explain: true,
  explainSubmission: true,
  allowance: true,
  progress: true,
  hosts: true,
  host: true,
  overview: true,
  usages: true,
  changeHost: true,
  removeHost: true,
};

export const coordinatorVerbs = Object.keys(verbs) as readonly CoordinatorVerb[];
